// Statements of many requests over a few connections: those who ask the same go as one statement, and what waits for nobody goes several at a time.
import pg from 'pg';
import { isKnown, newPart, type Part, submit, wireOf } from './batch.ts';
import { join, share, statementOf } from './coalesce.ts';
import { currentPatience, now, type Patience } from './deadline.ts';
import type { Statement } from './statement.ts';

/** The server refused one of several statements, and took all of them back. */
export class FailedTogether extends Error {}

export interface SharedStatements {
  /** @throws FailedTogether when the refusal may be that of another one; else the trouble that it met, in the driver's words */
  query(statement: Statement, values: unknown[]): Promise<unknown[]>;
  connections(): { busy: number; idle: number; waiting: number };
  close(): Promise<void>;
}

export interface SharedOptions {
  /** Makes a connection that is ready. */
  connect: () => Promise<pg.Client>;
  /** How many connections. */
  lanes: number;
  /**
   * Where 0, several statements go over a connection at a time, and at once. Else each goes apart, so that whoever waits for a lock holds up
   * only those who ask the same; and for so many milliseconds at most those who come while others are served wait for these, to go together
   * then: few large statements cost less than many small ones. Mostly one connection serves all; the others are there for when one takes
   * longer, or many wait.
   */
  gathering: number;
  /** How many statements may wait. */
  maxWaiting: number;
  /** Whether a connection is of no use after an error: it may be lost, or hold a plan that is stale. */
  isDoubtful: (error: Error) => boolean;
  /** What is told to those for whom nothing is left of their patience. */
  tooSlow: () => Error;
  onError: (error: Error) => void;
}

interface Lane {
  client: pg.Client | undefined;
  /** What is under way there, each as one statement. */
  groups: Entry[][];
  /** Since when, by now(). */
  since: number;
  /** When what is under way there has to be over, by now(). */
  deadline: number;
}

interface Entry {
  part: Part;
  patience: Patience;
  begin: number;
  granted: number;
  /** Undefined once it has its answer. */
  settle: ((error?: Error) => void) | undefined;
}

/** Statements that one connection gets while another is idle: sent together they share the cost, apart they share the processors. */
const together = 4;
/** Statements that go together at most, and askers whom one of them serves. */
const most = 32;
/** Askers whom one statement serves where few wait: some are answered while others are asked for, and both sides have work. */
const few = 8;
const sweepInterval = 100; // milliseconds
const pause = 500; // milliseconds before one more connection is tried, while there are others

export function createSharedStatements(options: SharedOptions): SharedStatements {
  const apart = options.gathering > 0;
  const lanes: Lane[] = [];
  /** Each of these goes as one statement: nobody joins it once it was sent, so that everybody sees what was acknowledged before. */
  let queue: Entry[][] = [];
  let waiting = 0;
  let flushing = false;
  let closed = false;
  /** When a connection could not be made last. */
  let failed = -Infinity;
  let sweep: NodeJS.Timeout | undefined;
  let gathered: NodeJS.Timeout | undefined;

  /** After all that the event loop has read at once, so that what came together goes together. */
  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    setImmediate(flush);
  }

  function flush(): void {
    flushing = false;
    while (queue.length > 0) {
      if (waiting < most && gathers()) return;
      const lane = lanes.find(({ client, groups }) => client && groups.length === 0);
      if (!lane) {
        if (lanes.length < options.lanes && (lanes.length === 0 || now() > failed + pause)) void open();
        return;
      }
      const free = lanes.length === options.lanes ? lanes.filter(({ groups }) => groups.length === 0).length : 1;
      send(lane, apart ? 1 : Math.min(most, Math.max(together, Math.ceil(queue.length / free))));
    }
  }

  /** Whether those who wait go on gathering; if nothing else happens until it is over, they go by a timer. */
  function gathers(): boolean {
    let since = -Infinity;
    for (const lane of lanes) if (lane.groups.length > 0) since = Math.max(since, lane.since);
    const left = since + options.gathering - now();
    if (left <= 0) return false;
    gathered ??= setTimeout(() => {
      gathered = undefined;
      flush();
    }, left);
    return true;
  }

  function enqueue(entry: Entry): void {
    const { statement } = entry.part;
    const size = apart ? most : Math.min(most, Math.max(few, Math.ceil(waiting / options.lanes)));
    const group =
      statement.many && queue.findLast((group) => group.length < size && group[0]!.part.statement === statement);
    if (group) group.push(entry);
    else queue.push([entry]);
    waiting++;
  }

  function dequeue(count: number): Entry[][] {
    const groups = queue.splice(0, count);
    for (const { length } of groups) waiting -= length;
    return groups;
  }

  function send(lane: Lane, size: number): void {
    const client = lane.client!;
    let count = 0;
    while (count < Math.min(size, queue.length) && isKnown(client, statementOf(queue[count]!))) count++;
    const groups = dequeue(Math.max(1, count));
    lane.groups = groups;
    lane.since = now();
    lane.deadline = 0;
    for (const group of groups)
      for (const { begin, granted } of group) lane.deadline = Math.max(lane.deadline, begin + granted);
    const parts = groups.map(join);
    submit(client, parts, (error) => {
      lane.groups = [];
      if (!error) groups.forEach((group, index) => share(parts[index]!, group));
      if (error && options.isDoubtful(error)) drop(lane);
      // of a connection that was lost nobody can tell what is in force; of what the server refused nothing is
      const told =
        error instanceof pg.DatabaseError && (groups.length > 1 || groups[0]!.length > 1)
          ? new FailedTogether('one of several statements failed', { cause: error })
          : error;
      for (const group of groups) for (const entry of group) entry.settle?.(told);
      if (queue.length > 0) flush();
    });
  }

  async function open(): Promise<void> {
    const lane: Lane = { client: undefined, groups: [], since: 0, deadline: 0 };
    lanes.push(lane);
    try {
      const client = await options.connect();
      client.on('error', (error: Error) => {
        // what is under way hears of it itself, and of what was dropped nobody wants to
        if (lane.groups.length === 0 && lanes.includes(lane)) options.onError(error);
        drop(lane);
      });
      client.on('end', () => drop(lane));
      if (closed) return void client.end();
      lane.client = client;
    } catch (error) {
      failed = now();
      drop(lane);
      // who could be served by another connection still is
      if (!lanes.some(({ client }) => client))
        for (const entry of dequeue(queue.length).flat()) entry.settle?.(error as Error);
    }
    flush();
  }

  function drop(lane: Lane): void {
    const index = lanes.indexOf(lane);
    if (index < 0) return;
    lanes.splice(index, 1);
    const { client } = lane;
    lane.client = undefined;
    // without waiting for what is under way there, as end() would
    if (client) wireOf(client).stream.destroy();
  }

  /** Lets those go whose patience is over, and connections that do not answer. */
  function tend(): void {
    const time = now();
    const isOver = ({ begin, granted }: Entry) => time > begin + granted;
    for (const entry of [...queue.flat(), ...lanes.flatMap(({ groups }) => groups.flat())]) {
      if (isOver(entry)) entry.settle?.(options.tooSlow());
    }
    queue = queue.map((group) => group.filter(({ settle }) => settle)).filter(({ length }) => length > 0);
    waiting = queue.flat().length;
    for (const lane of lanes.filter(({ groups, deadline }) => groups.length > 0 && time > deadline)) drop(lane);
    if (queue.length === 0 && lanes.every(({ groups }) => groups.length === 0)) {
      clearInterval(sweep);
      sweep = undefined;
    }
  }

  return {
    query(statement, values) {
      if (closed || waiting >= options.maxWaiting) return Promise.reject(options.tooSlow());
      const patience = currentPatience();
      if (patience.left <= 0) return Promise.reject(options.tooSlow());
      return new Promise((resolve, reject) => {
        const part = newPart(statement, values);
        const entry: Entry = {
          part,
          patience,
          begin: now(),
          granted: patience.left,
          settle(error) {
            entry.settle = undefined;
            // of statements side by side the longest counts
            patience.left = Math.min(patience.left, entry.granted - (now() - entry.begin));
            if (error) reject(error);
            else resolve(part.rows);
          },
        };
        enqueue(entry);
        sweep ??= setInterval(tend, sweepInterval).unref();
        flushSoon();
      });
    },
    connections: () => ({
      busy: lanes.filter(({ groups }) => groups.length > 0).length,
      idle: lanes.filter(({ groups }) => groups.length === 0).length,
      waiting,
    }),
    async close() {
      closed = true;
      clearInterval(sweep);
      clearTimeout(gathered);
      for (const entry of dequeue(queue.length).flat()) entry.settle?.(options.tooSlow());
      await Promise.all(lanes.map(({ client }) => client?.end()));
    },
  };
}
