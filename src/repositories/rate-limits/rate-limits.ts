// The table rate_limits: how often something was tried, counted across all instances before it is done (security R62).
import { digest } from '../../crypto/secrets.ts';
import { DatabaseUnavailable, type Sql, statement } from '../../database/database.ts';
import { now, patiently, withNewPatience } from '../../database/deadline.ts';

export type LimitName =
  | 'signInPerNetwork'
  | 'signInFailures'
  | 'registrationPerNetwork'
  | 'registrationPolls'
  | 'clientAuthFailures'
  | 'clientAuthFailuresPerNetwork'
  | 'verificationCodes'
  | 'pushedPerNetwork'
  | 'pendingSignInsPerNetwork'
  | 'mailedLinks'
  | 'mailedLinksPerNetwork';

/** Points a window, 0 for no limit. */
export type LimitPoints = Readonly<Record<LimitName, number>>;

/** Length of each limit's window, in seconds. */
const windows: Readonly<Record<LimitName, number>> = {
  signInPerNetwork: 60,
  signInFailures: 60,
  registrationPerNetwork: 3600,
  registrationPolls: 60,
  clientAuthFailures: 60,
  clientAuthFailuresPerNetwork: 60,
  verificationCodes: 15 * 60,
  pushedPerNetwork: 60,
  // counted by the requests themselves: only that it is passed is remembered
  pendingSignInsPerNetwork: 60,
  mailedLinks: 3600,
  mailedLinksPerNetwork: 3600,
};

/** Every limit by its name, with which its keys begin. */
export const limitNames = Object.keys(windows) as LimitName[];

const maxKnown = 10_000;
/** Who may wait for the next statement: a database that stands still must not fill the memory (security R108). */
const maxWaiting = 1_000;
const sweepInterval = 100; // milliseconds

// Many counters at once, whose rows are locked in the order of their keys, so that two instances cannot wait for each other. The disk is not
// waited for: a crash of the database may forget the last moment's tries, and a lock that outlasts a flush would hold up all who come after.
const count = statement(
  'rate_limits.count',
  `INSERT INTO rate_limits AS l (key, points, expire)
   SELECT key, taken, extract(epoch FROM now()) * 1000 + milliseconds
     FROM unnest($1::text[], $2::int[], $4::int[]) AS counters (key, taken, milliseconds),
          set_config('synchronous_commit', 'off', true)
   ON CONFLICT (key) DO UPDATE SET
     points = excluded.points + CASE WHEN l.expire <= extract(epoch FROM now()) * 1000 THEN 0
       ELSE greatest(0, l.points - ($3::int[])[array_position($1, excluded.key)]) END,
     expire = CASE WHEN l.expire <= extract(epoch FROM now()) * 1000 THEN excluded.expire ELSE l.expire END
   RETURNING key, points, (expire - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS left`,
);

interface Counted {
  key: string;
  points: number;
  /** Milliseconds until the window ends. */
  left: number;
}

/** What one statement counts, for all who asked while the one before was under way. */
interface Turn {
  counters: Map<string, { taken: number; returned: number; milliseconds: number }>;
  waiting: Waiting[];
}

interface Waiting {
  /** Until when, by now(). */
  until: number;
  resolve(rows: Map<string, Counted>): void;
  reject(error: unknown): void;
}

export interface Limits {
  /** Counts one try; the number of seconds to wait when that is one too many, else 0. @throws DatabaseUnavailable */
  consume(name: LimitName, key: string): Promise<number>;
  /** Takes a try back: it turned out right. */
  giveBack(name: LimitName, key: string): Promise<void>;
  /** Whether this instance knows of any limit that is passed: most of the time it does not, and `blocked` need not be asked. */
  readonly anyPassed: boolean;
  /** Seconds to wait when this instance knows already that the limit is passed, else 0; asks no database. */
  blocked(name: LimitName, key: string): number;
  /** Lets this instance know that a limit is passed, for so many seconds. */
  block(name: LimitName, key: string, seconds: number): void;
}

export function createLimits(sql: Sql, points: LimitPoints): Limits {
  const idOf = (name: LimitName, key: string) => `${name}:${digest('limit', key).toString('base64url')}`;
  /** Until when (milliseconds of performance.now) this instance knows a key to be past its limit. */
  const known = new Map<string, number>();
  let lastUntil = -Infinity;
  function remember(id: string, milliseconds: number): void {
    if (known.size >= maxKnown) known.delete(known.keys().next().value!);
    const until = performance.now() + milliseconds;
    known.set(id, until);
    lastUntil = Math.max(lastUntil, until);
  }

  // one statement at a time: of one instance nobody waits for a row that another of its requests has locked
  let last: Promise<void> = Promise.resolve();
  let present: Turn | undefined;
  let next: Turn | undefined;
  /** One for all who wait: a timer for each would cost more than to count. */
  let clock: NodeJS.Timeout | undefined;

  function nextTurn(): Turn {
    if (next) return next;
    const turn: Turn = (next = { counters: new Map(), waiting: [] });
    clock ??= setInterval(tend, sweepInterval).unref();
    last = last.then(async () => {
      present = turn;
      next = undefined;
      try {
        const rows = await withNewPatience(() => send(turn.counters));
        for (const each of turn.waiting) each.resolve(rows);
      } catch (error) {
        for (const each of turn.waiting) each.reject(error);
      }
      present = undefined;
    });
    return turn;
  }

  /** Lets those go whose patience is over. */
  function tend(): void {
    const time = now();
    for (const { until, reject } of [present, next].flatMap((turn) => turn?.waiting ?? []))
      if (time > until) reject(new DatabaseUnavailable('the database was too slow'));
    if (present ?? next) return;
    clearInterval(clock);
    clock = undefined;
  }

  async function send(counters: Turn['counters']): Promise<Map<string, Counted>> {
    const ordered = [...counters].sort(([a], [b]) => (a < b ? -1 : 1));
    const rows = await sql.query<Counted>(count, [
      ordered.map(([id]) => id),
      ordered.map(([, { taken }]) => taken),
      ordered.map(([, { returned }]) => returned),
      ordered.map(([, { milliseconds }]) => milliseconds),
    ]);
    return new Map(rows.map((row) => [row.key, row]));
  }

  /** Where a try stands among those of its window, and how long that lasts yet. */
  async function add(name: LimitName, id: string, change: 'taken' | 'returned'): Promise<Omit<Counted, 'key'>> {
    const turn = nextTurn();
    if (turn.waiting.length >= maxWaiting) throw new DatabaseUnavailable('too many wait for their limits');
    let counter = turn.counters.get(id);
    if (!counter) turn.counters.set(id, (counter = { taken: 0, returned: 0, milliseconds: windows[name] * 1000 }));
    const place = ++counter[change];
    const rows = await patiently(
      (left) =>
        new Promise<Map<string, Counted>>((resolve, reject) => {
          turn.waiting.push({ until: now() + left(), resolve, reject });
        }),
    );
    const row = rows.get(id)!;
    return { points: row.points - counter.taken + place, left: row.left };
  }

  return {
    async consume(name, key) {
      if (points[name] === 0) return 0;
      const id = idOf(name, key);
      const counted = await add(name, id, 'taken');
      if (counted.points <= points[name]) return 0;
      remember(id, counted.left);
      return Math.max(1, Math.ceil(counted.left / 1000));
    },
    async giveBack(name, key) {
      if (points[name] > 0) await add(name, idOf(name, key), 'returned');
    },
    block: (name, key, seconds) => remember(idOf(name, key), seconds * 1000),
    get anyPassed() {
      return lastUntil > performance.now();
    },
    blocked(name, key) {
      if (!this.anyPassed) return 0;
      const until = known.get(idOf(name, key));
      return until === undefined ? 0 : Math.max(0, Math.ceil((until - performance.now()) / 1000));
    },
  };
}
