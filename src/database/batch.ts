// Sends several prepared statements to PostgreSQL as one batch: one write, one transaction, one round trip (PostgreSQL 55.2.3).
import pg from 'pg';
// @ts-expect-error the driver's types omit this file, which converts values to parameters exactly as the driver's own queries do
import utils from 'pg/lib/utils.js';
import { readInstant } from './timestamps.ts';
import type { Statement } from './statement.ts';

type Fields = { name: string; dataTypeID: number }[];
/** How the rows of a statement are read. A connection asks once, since the server refuses a plan whose result changed (0A000). */
interface Shape {
  names: string[];
  parsers: ((text: string) => unknown)[];
  empty: Record<string, unknown>;
}

/** The protocol messages that the driver's connection offers to a query. */
interface Wire {
  stream: { cork(): void; uncork(): void; destroy(): void };
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: unknown[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
  sync(): void;
  /** The statements prepared on this connection, as the driver records them. */
  parsedStatements: Record<string, string | undefined>;
}

export interface Part {
  readonly statement: Statement;
  /** In the form of the protocol. */
  readonly parameters: unknown[];
  readonly rows: unknown[];
  /** The command tag of the server's answer, such as `COMMIT`. */
  command: string;
}

const shapes = new WeakMap<object, Map<string, Shape>>();
const toParameter = utils.prepareValue as (value: unknown) => unknown;
const noMessage = {};

/** @throws TypeError for a value that cannot be converted to a parameter */
export function newPart(statement: Statement, values: unknown[]): Part {
  return { statement, parameters: values.map((value) => toParameter(value)), rows: [], command: '' };
}

/** Whether a connection has run the statement before. Only such statements are batched, so that a failed preparation cannot affect others. */
export function isKnown(client: pg.ClientBase, { name }: Statement): boolean {
  return shapes.get(wireOf(client))?.has(name) === true;
}

/**
 * Runs the parts in order as one transaction, or within the open one.
 * @param parts several only if each isKnown()
 * @param done called with the first error; the parts are then rolled back, unless the error was a timeout
 * @param milliseconds the timeout; undefined where the caller enforces its own
 */
export function submit(
  client: pg.ClientBase,
  parts: readonly Part[],
  done: (error?: Error) => void,
  milliseconds?: number,
): void {
  // the driver's type lacks handlers that the driver calls
  client.query(new Batch(parts, done, milliseconds) as unknown as pg.Submittable);
}

/** Handles the messages of the answer, which the driver passes on. */
class Batch {
  /** The driver records this statement as prepared: only a statement that is sent alone can be new. */
  readonly name: string;
  readonly text: string;
  /** The driver wraps it with its timer. */
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
      // also for a null: of columns with the same name the last one counts
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

/** The driver's types omit the connection, which every version has had. */
export function wireOf(client: pg.ClientBase): Wire {
  return (client as unknown as { connection: Wire }).connection;
}
