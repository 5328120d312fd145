// Batches the statements of many requests over a few connections: it coalesces equal ones, and sends several at once where none waits for a lock.
import pg from 'pg';
import { isKnown, newPart, type Part, submit, wireOf } from './batch.ts';
import { coalesce, distribute, statementOf } from './coalesce.ts';
import { currentDeadline, type Deadline, now } from './deadline.ts';
import type { Statement } from './statement.ts';

/** The server refused one statement of a batch, and rolled all of them back. */
export class BatchFailed extends Error {}

export interface StatementBatcher {
  /** @throws BatchFailed when another statement may have caused the refusal; else the driver's error */
  query(statement: Statement, values: unknown[]): Promise<unknown[]>;
  connections(): { busy: number; idle: number; waiting: number };
  close(): Promise<void>;
}

export interface BatcherOptions {
  /** Opens a connection that is ready. */
  connect: () => Promise<pg.Client>;
  maxConnections: number;
  /**
   * Milliseconds. With 0, several statements go over a connection at a time, and at once. Otherwise each statement goes alone, so that a wait
   * for a lock delays only callers of the same statement. While some are under way, new ones wait at most this long to be coalesced: a few
   * large statements cost less than many small ones. One connection usually serves all; the others help when a statement takes longer, or
   * many wait.
   */
  coalescingWait: number;
  /** How many statements may wait. */
  maxWaiting: number;
  /** Whether a connection must be dropped after an error: it may be lost, or hold a stale plan. */
  isDoubtful: (error: Error) => boolean;
  /** Makes the error for a statement whose deadline has passed. */
  tooSlow: () => Error;
  onError: (error: Error) => void;
}

interface Connection {
  client: pg.Client | undefined;
  /** The groups under way, each sent as one statement. */
  groups: Entry[][];
  /** When the groups were sent, by now(). */
  since: number;
  /** When the groups must be answered, by now(). */
  deadline: number;
}

interface Entry {
  part: Part;
  deadline: Deadline;
  begin: number;
  granted: number;
  /** Undefined once the entry has its answer. */
  settle: ((error?: Error) => void) | undefined;
}

/** Statements that one connection gets while another is idle: one batch shares the cost, several batches use several processors. */
const minBatch = 4;
/** The most statements in a batch, and the most callers in a group. */
const maxBatch = 32;
/** Callers in a group while few wait: some get their answers while others are queried, so that both sides have work. */
const minGroup = 8;
const pruneInterval = 100; // milliseconds
const pause = 500; // milliseconds before it tries another connection, while it has one

export function createStatementBatcher(options: BatcherOptions): StatementBatcher {
  const sendsAlone = options.coalescingWait > 0;
  const connections: Connection[] = [];
  /** Each group is sent as one statement. No caller joins it after that, so that each caller sees all that was acknowledged before. */
  let queue: Entry[][] = [];
  let waiting = 0;
  let flushing = false;
  let closed = false;
  /** When the last attempt to connect failed, by now(). */
  let failedAt = -Infinity;
  let pruning: NodeJS.Timeout | undefined;
  let coalescing: NodeJS.Timeout | undefined;

  /** Sends after the event loop has read all its input, so that statements that arrived at once share a batch. */
  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    setImmediate(flush);
  }

  function flush(): void {
    flushing = false;
    while (queue.length > 0) {
      if (waiting < maxBatch && isCoalescing()) return;
      const connection = connections.find(({ client, groups }) => client && groups.length === 0);
      if (!connection) {
        const mayOpen = connections.length === 0 || now() > failedAt + pause;
        if (connections.length < options.maxConnections && mayOpen) void open();
        return;
      }
      const idle = connections.length === options.maxConnections ? connections.filter(isIdle).length : 1;
      send(connection, sendsAlone ? 1 : Math.min(maxBatch, Math.max(minBatch, Math.ceil(queue.length / idle))));
    }
  }

  /** Whether the queue goes on coalescing; a timer sends it when that time is over. */
  function isCoalescing(): boolean {
    let since = -Infinity;
    for (const connection of connections) if (!isIdle(connection)) since = Math.max(since, connection.since);
    const left = since + options.coalescingWait - now();
    if (left <= 0) return false;
    coalescing ??= setTimeout(() => {
      coalescing = undefined;
      flush();
    }, left);
    return true;
  }

  function enqueue(entry: Entry): void {
    const { statement } = entry.part;
    const size = sendsAlone
      ? maxBatch
      : Math.min(maxBatch, Math.max(minGroup, Math.ceil(waiting / options.maxConnections)));
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

  function send(connection: Connection, size: number): void {
    const client = connection.client!;
    let count = 0;
    while (count < Math.min(size, queue.length) && isKnown(client, statementOf(queue[count]!))) count++;
    const groups = dequeue(Math.max(1, count));
    connection.groups = groups;
    connection.since = now();
    connection.deadline = 0;
    for (const group of groups)
      for (const { begin, granted } of group) connection.deadline = Math.max(connection.deadline, begin + granted);
    const parts = groups.map(coalesce);
    submit(client, parts, (error) => {
      connection.groups = [];
      if (!error) groups.forEach((group, index) => distribute(parts[index]!, group));
      if (error && options.isDoubtful(error)) drop(connection);
      // after a lost connection it is unknown what was committed; of a batch that the server refused nothing was
      const failure =
        error instanceof pg.DatabaseError && (groups.length > 1 || groups[0]!.length > 1)
          ? new BatchFailed('one of several statements failed', { cause: error })
          : error;
      for (const group of groups) for (const entry of group) entry.settle?.(failure);
      if (queue.length > 0) flush();
    });
  }

  async function open(): Promise<void> {
    const connection: Connection = { client: undefined, groups: [], since: 0, deadline: 0 };
    connections.push(connection);
    try {
      const client = await options.connect();
      client.on('error', (error: Error) => {
        // statements under way fail with the error themselves, and a dropped connection needs no report
        if (isIdle(connection) && connections.includes(connection)) options.onError(error);
        drop(connection);
      });
      client.on('end', () => drop(connection));
      if (closed) return void client.end();
      connection.client = client;
    } catch (error) {
      failedAt = now();
      drop(connection);
      // another connection may still serve the queue
      if (!connections.some(({ client }) => client))
        for (const entry of dequeue(queue.length).flat()) entry.settle?.(error as Error);
    }
    flush();
  }

  function drop(connection: Connection): void {
    const index = connections.indexOf(connection);
    if (index < 0) return;
    connections.splice(index, 1);
    const { client } = connection;
    connection.client = undefined;
    // end() would wait for the statements under way
    if (client) wireOf(client).stream.destroy();
  }

  /** Fails the entries whose deadline has passed, and drops connections that do not answer. */
  function prune(): void {
    const time = now();
    const isOver = ({ begin, granted }: Entry) => time > begin + granted;
    for (const entry of [...queue.flat(), ...connections.flatMap(({ groups }) => groups.flat())]) {
      if (isOver(entry)) entry.settle?.(options.tooSlow());
    }
    queue = queue.map((group) => group.filter(({ settle }) => settle)).filter(({ length }) => length > 0);
    waiting = queue.flat().length;
    for (const connection of connections.filter((each) => !isIdle(each) && time > each.deadline)) drop(connection);
    if (queue.length === 0 && connections.every(isIdle)) {
      clearInterval(pruning);
      pruning = undefined;
    }
  }

  return {
    query(statement, values) {
      if (closed || waiting >= options.maxWaiting) return Promise.reject(options.tooSlow());
      const deadline = currentDeadline();
      if (deadline.left <= 0) return Promise.reject(options.tooSlow());
      return new Promise((resolve, reject) => {
        const part = newPart(statement, values);
        const entry: Entry = {
          part,
          deadline,
          begin: now(),
          granted: deadline.left,
          settle(error) {
            entry.settle = undefined;
            // of concurrent statements only the longest is subtracted
            deadline.left = Math.min(deadline.left, entry.granted - (now() - entry.begin));
            if (error) reject(error);
            else resolve(part.rows);
          },
        };
        enqueue(entry);
        pruning ??= setInterval(prune, pruneInterval).unref();
        flushSoon();
      });
    },
    connections: () => ({
      busy: connections.filter((each) => !isIdle(each)).length,
      idle: connections.filter(isIdle).length,
      waiting,
    }),
    async close() {
      closed = true;
      clearInterval(pruning);
      clearTimeout(coalescing);
      for (const entry of dequeue(queue.length).flat()) entry.settle?.(options.tooSlow());
      await Promise.all(connections.map(({ client }) => client?.end()));
    },
  };
}

function isIdle({ groups }: Connection): boolean {
  return groups.length === 0;
}
