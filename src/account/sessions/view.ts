// Prepares what the sessions page shows of each session.
import { browserAndSystem } from '../../domain/sessions/browser-name.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { SessionSummary } from '../../repositories/sessions/sessions.ts';

/** @param current the sid of the session of this browser, which comes first */
export function sessionsView(
  sessions: readonly SessionSummary[],
  current: string,
): Pages['account-sessions']['sessions'] {
  const ordinals = ordinalsOf(sessions);
  return sessions
    .map((session) => ({
      sid: session.sid,
      ...(session.browserName !== undefined && { name: session.browserName }),
      ...browserAndSystem(session.userAgent),
      ...(ordinals.has(session.sid) && { ordinal: ordinals.get(session.sid)! }),
      ...(session.address !== undefined && { address: session.address }),
      since: session.createdAt,
      signedInAt: session.authTime,
      usedAt: session.usedAt,
      ...(session.remembered && { until: session.expiresAt }),
      applications: session.clients.map(({ clientName }) => clientName),
      current: session.sid === current,
    }))
    .sort((a, b) => Number(b.current) - Number(a.current) || b.usedAt.getTime() - a.usedAt.getTime());
}

/** Numbers the sessions of browsers that have one name, from the second one on, so that users can tell them apart: the oldest comes first. */
function ordinalsOf(sessions: readonly SessionSummary[]): Map<string, number> {
  const counts = new Map<string, number>();
  const ordinals = new Map<string, number>();
  for (const { sid, userAgent } of sessions.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())) {
    const name = JSON.stringify(browserAndSystem(userAgent));
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    if (count > 1) ordinals.set(sid, count);
  }
  return ordinals;
}
