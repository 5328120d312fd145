// Declares a check of `gatehouse doctor`: it looks at the service, and judges what it saw.
import type { Config } from '../../config.ts';
import type { ServiceDatabase } from '../../database/service-database.ts';
import { DatabaseUnavailable } from '../../database/database.ts';
import type { SeenRequest } from '../../repositories/doctor/doctor-probes.ts';
import type { ServerFacts } from '../../repositories/doctor/doctor-view.ts';
import type { Store } from '../../repositories/store.ts';
import type { ProbeAnswer } from '../../outbound/probe-request.ts';

/** `fault`: something does not work. `warning`: it works, and should be looked at. */
export type State = 'ok' | 'warning' | 'fault';

export interface Finding {
  state: State;
  /** What is so, without a full stop. */
  says: string;
  /** What to do about it: a sentence, for all but `ok`. */
  todo?: string;
}

export const ok = (says: string): Finding => ({ state: 'ok', says });
export const warning = (says: string, todo: string): Finding => ({ state: 'warning', says, todo });
export const fault = (says: string, todo: string): Finding => ({ state: 'fault', says, todo });

/** A request to the issuer's own address, and what arrived of it. */
export interface Probe {
  /** The answer, or the code of the error without one. */
  answer: ProbeAnswer | string;
  /** What the instance saw; undefined if none has seen it. */
  seen: SeenRequest | undefined;
  /** The time in the middle of the request, by the clock of this machine. */
  sentAt: number;
}

/** Where the doctor looks. */
export interface Place {
  /** The settings as the service has them, and those of this shell for what each program reads itself. */
  config: Config;
  /** The settings of this shell that say something else. */
  overruled: readonly string[];
  /** False if this shell knows the service's mail server without its credentials. */
  hasMailServer: boolean;
  /** The version of the service that started last; undefined if none has. */
  version: string | undefined;
  /** The version of this command. */
  installed: string;
  kind: ServiceDatabase['kind'];
  store: Store;
  secretKeys: readonly string[];
  /** Facts that several checks read: they are looked at once. */
  server(): Promise<ServerFacts>;
  /** A short request, and one with long headers. */
  probes(): Promise<{ short: Probe; long: Probe }>;
  /** Another issuer of this shell, if an instance of this database answers there. */
  secondIssuer(): Promise<string | undefined>;
}

export interface Check {
  /** One word, or a few with hyphens: the name in the answer. */
  name: string;
  /** Looks, and judges. It never throws. */
  examine(place: Place): Promise<Finding[]>;
}

/**
 * @param parts.look reads what is needed, and decides nothing; an error of it is a finding
 * @param parts.judge a pure function; without a finding the check has nothing to say
 */
export const check = <Seen>(
  name: string,
  { look, judge }: { look(place: Place): Promise<Seen>; judge(seen: Seen): Finding[] },
): Check & { judge(seen: Seen): Finding[] } => ({
  name,
  judge,
  async examine(place) {
    try {
      return judge(await look(place));
    } catch (error) {
      return [unseen(error)];
    }
  },
});

/** The finding of every check that needs the database while that does not answer. */
export const unavailable = warning('not looked at, because the database does not answer', 'Mend the database first.');

/** A check that could not look. */
function unseen(error: unknown): Finding {
  if (error instanceof DatabaseUnavailable) return unavailable;
  const reason = error instanceof Error ? error.message.replace(/\s+/g, ' ') : 'an unknown error';
  return fault(
    `could not be looked at: ${reason}`,
    'Compare the version of this command with that of the service, and run both with the same settings.',
  );
}
