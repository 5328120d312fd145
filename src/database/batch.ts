// Prepared statements sent to PostgreSQL together and answered together: one write, one transaction, one wait (PostgreSQL 55.2.3).
import pg from 'pg';
// @ts-expect-error the types of the driver do not tell of this file, which makes parameters of values exactly as its own queries do
import utils from 'pg/lib/utils.js';
import { readInstant } from './timestamps.ts';
import type { Statement } from './statement.ts';

type Fields = { name: string; dataTypeID: number }[];
/** How the rows of a statement are read: said once a connection, since the server refuses a plan whose result changed (0A000). */
interface Shape {
  names: string[];
  parsers: ((text: string) => unknown)[];
  empty: Record<string, unknown>;
}

/** What the driver's connection offers to a query: the messages of the protocol. */
interface Wire {
  stream: { cork(): void; uncork(): void; destroy(): void };
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: unknown[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
  sync(): void;
  /** What is prepared there, as the driver notes it. */
  parsedStatements: Record<string, string | undefined>;
}

export interface Part {
  readonly statement: Statement;
  /** As the protocol takes them. */
  readonly parameters: unknown[];
  readonly rows: unknown[];
  /** What the server says that it did, such as `COMMIT`. */
  command: string;
}

const shapes = new WeakMap<object, Map<string, Shape>>();
const toParameter = utils.prepareValue as (value: unknown) => unknown;
const noMessage = {};

/** @throws TypeError for a value that no parameter can be made of */
export function newPart(statement: Statement, values: unknown[]): Part {
  return { statement, parameters: values.map((value) => toParameter(value)), rows: [], command: '' };
}

/** Whether a connection has run the statement before: only such ones go together, so that an error leaves no doubt about the others. */
export function isKnown(client: pg.ClientBase, { name }: Statement): boolean {
  return shapes.get(wireOf(client))?.has(name) === true;
}

/**
 * Runs the parts in order as one transaction, or within the one that is open.
 * @param parts several only if each isKnown()
 * @param done called with the first error, after which nothing of the parts is in force, unless their time was over
 * @param milliseconds that they get; undefined where somebody else looks after that
 */
export function submit(
  client: pg.ClientBase,
  parts: readonly Part[],
  done: (error?: Error) => void,
  milliseconds?: number,
): void {
  // the driver's type of what it takes says less than the driver calls: the handlers of a Batch
  client.query(new Batch(parts, done, milliseconds) as unknown as pg.Submittable);
}

/** What the driver calls while its answer arrives. */
class Batch {
  /** The driver notes it as prepared once it is: only a statement that goes alone can be new. */
  readonly name: string;
  readonly text: string;
  /** The driver puts its timer around it. */
  callback: (error?: Error) => void;
  readonly query_timeout: number | undefined;
  readonly #parts: readonly Part[];
  #shapes: Map<string, Shape> | undefined;
  #index = 0;
  #shape: Shape | undefined;

  constructor(parts: readonly Part[], done: (error?: Error) => void, milliseconds: number | undefined) {
    this.#parts = parts;
    this.callback = done;
    this.query_timeout = milliseconds;
    ({ name: this.name, text: this.text } = parts[0]!.statement);
  }

  submit(wire: Wire): void {
    this.#shapes = shapes.get(wire);
    if (!this.#shapes) shapes.set(wire, (this.#shapes = new Map()));
    wire.stream.cork();
    for (const { statement, parameters } of this.#parts) {
      const { name, text } = statement;
      if (wire.parsedStatements[name] === undefined) wire.parse({ name, text });
      wire.bind({ statement: name, values: parameters });
      if (!this.#shapes.has(name)) wire.describe({ type: 'P', name: '' });
      wire.execute(noMessage);
    }
    wire.sync();
    wire.stream.uncork();
    this.#begin();
  }

  handleRowDescription({ fields }: { fields: Fields }): void {
    this.#shape = shapeOf(fields);
    this.#shapes!.set(this.#parts[this.#index]!.statement.name, this.#shape);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const { names, parsers, empty } = this.#shape!;
    const row = { ...empty };
    for (let index = 0; index < fields.length; index++) {
      const text = fields[index]!;
      // a null, too: of columns with one name the last counts
      row[names[index]!] = text === null ? null : parsers[index]!(text);
    }
    this.#parts[this.#index]!.rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const part = this.#parts[this.#index++]!;
    part.command = text;
    // a statement without rows has no description
    if (!this.#shapes!.has(part.statement.name)) this.#shapes!.set(part.statement.name, shapeOf([]));
    this.#begin();
  }

  handleReadyForQuery(): void {
    this.callback();
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleEmptyQuery(): void {}

  handlePortalSuspended(): void {}

  #begin(): void {
    const part = this.#parts[this.#index];
    this.#shape = part && this.#shapes!.get(part.statement.name);
  }
}

function shapeOf(fields: Fields): Shape {
  const names = fields.map(({ name }) => name);
  return {
    names,
    parsers: fields.map(({ dataTypeID }) =>
      dataTypeID === pg.types.builtins.TIMESTAMPTZ ? readInstant : pg.types.getTypeParser(dataTypeID, 'text'),
    ),
    empty: Object.fromEntries(names.map((name) => [name, null])),
  };
}

/** The driver's types leave the connection out, which it has had in every version. */
export function wireOf(client: pg.ClientBase): Wire {
  return (client as unknown as { connection: Wire }).connection;
}
