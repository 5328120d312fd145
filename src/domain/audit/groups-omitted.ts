// Records that the groups of a user were too many for an ID Token, at most once an hour for a user at a client.
import type { Logger } from 'pino';
import type { Subject } from '../../rules/claims/claims.ts';
import type { Store } from '../../repositories/store.ts';

const hour = 3_600_000;
/** The most notes that are remembered; the oldest go first. */
const most = 10_000;

export function createOmissionNotes({ auditEvents }: Pick<Store, 'auditEvents'>, logger: Logger) {
  const noted = new Map<string, number>();
  return ({ sub, groups }: Pick<Subject, 'sub' | 'groups'>, clientId: string): void => {
    const key = JSON.stringify([sub, clientId]);
    const now = performance.now();
    if (now - (noted.get(key) ?? -Infinity) < hour) return;
    noted.delete(key);
    if (noted.size >= most) noted.delete(noted.keys().next().value!);
    noted.set(key, now);
    const event = { type: 'groups.omitted', outcome: 'success', actor: 'service', clientId, sub } as const;
    // the sign-in does not wait for the note, and does not fail with it
    auditEvents.insert({ ...event, detail: { groups: groups.length } }).catch((error: unknown) => {
      noted.delete(key);
      logger.error({ err: error }, 'the event groups.omitted could not be stored');
    });
  };
}
