// The table rate_limits: how often something was tried, counted across all instances before it is done (security R62).
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { digest } from '../crypto/secrets.ts';
import { type Sql, statement } from '../database/database.ts';

export type LimitName =
  | 'signInPerNetwork'
  | 'signInFailures'
  | 'registrationPerNetwork'
  | 'registrationPolls'
  | 'clientAuthFailures'
  | 'clientAuthFailuresPerNetwork'
  | 'verificationCodes'
  | 'pushedPerNetwork'
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
  mailedLinks: 3600,
  mailedLinksPerNetwork: 3600,
};

/** Every limit by its name, with which its keys begin. */
export const limitNames = Object.keys(windows) as LimitName[];

const maxKnown = 10_000;

export interface Limits {
  /** Counts one try; the number of seconds to wait when that is one too many, else 0. @throws DatabaseUnavailable */
  consume(name: LimitName, key: string): Promise<number>;
  /** Takes a try back: it turned out right. */
  giveBack(name: LimitName, key: string): Promise<void>;
  /** Seconds to wait when this instance knows already that the limit is passed, else 0; asks no database. */
  blocked(name: LimitName, key: string): number;
  /** Lets this instance know that a limit is passed, for so many seconds. */
  block(name: LimitName, key: string, seconds: number): void;
}

export function createLimits(sql: Sql, points: LimitPoints): Limits {
  const storeClient = {
    async query({ name, text, values }: { name: string; text: string; values: unknown[] }) {
      const rows = await sql.query(statement(name, text), values);
      return { rows, rowCount: rows.length };
    },
  };
  const limiter = (name: LimitName) =>
    points[name] === 0
      ? undefined
      : new RateLimiterPostgres({
          storeClient,
          storeType: 'client',
          tableName: 'rate_limits',
          tableCreated: true,
          clearExpiredByTimeout: false,
          keyPrefix: name,
          points: points[name],
          duration: windows[name],
        });
  const limiters = {
    signInPerNetwork: limiter('signInPerNetwork'),
    signInFailures: limiter('signInFailures'),
    registrationPerNetwork: limiter('registrationPerNetwork'),
    registrationPolls: limiter('registrationPolls'),
    clientAuthFailures: limiter('clientAuthFailures'),
    clientAuthFailuresPerNetwork: limiter('clientAuthFailuresPerNetwork'),
    verificationCodes: limiter('verificationCodes'),
    pushedPerNetwork: limiter('pushedPerNetwork'),
    mailedLinks: limiter('mailedLinks'),
    mailedLinksPerNetwork: limiter('mailedLinksPerNetwork'),
  };
  const short = (key: string) => digest('limit', key).toString('base64url');
  /** Until when (milliseconds of performance.now) this instance knows a key to be past its limit. */
  const known = new Map<string, number>();
  function remember(name: LimitName, key: string, milliseconds: number): void {
    if (known.size >= maxKnown) known.delete(known.keys().next().value!);
    known.set(`${name} ${short(key)}`, performance.now() + milliseconds);
  }

  return {
    async consume(name, key) {
      try {
        await limiters[name]?.consume(short(key));
        return 0;
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        remember(name, key, refusal.msBeforeNext);
        return Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
      }
    },
    async giveBack(name, key) {
      await limiters[name]?.reward(short(key));
    },
    block: (name, key, seconds) => remember(name, key, seconds * 1000),
    blocked(name, key) {
      // nothing is known most of the time: then not even a digest is made
      const until = known.size === 0 ? undefined : known.get(`${name} ${short(key)}`);
      return until === undefined ? 0 : Math.max(0, Math.ceil((until - performance.now()) / 1000));
    },
  };
}
