// Prepares what the sessions page shows of each session.
import { browserAndSystem } from '../../domain/sessions/browser-name.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { SessionSummary } from '../../repositories/sessions/sessions.ts';

/** @param current the sid of the session of this browser, which comes first */
export function sessionsView(
  sessions: readonly SessionSummary[],
  current: string,
): Pages['account-sessions']['sessions'] {
  return sessions
    .map((session) => ({
      sid: session.sid,
      ...browserAndSystem(session.userAgent),
      signedInAt: session.authTime,
      usedAt: session.usedAt,
      applications: session.clients.map(({ clientName }) => clientName),
      current: session.sid === current,
    }))
    .sort((a, b) => Number(b.current) - Number(a.current) || b.usedAt.getTime() - a.usedAt.getTime());
}
