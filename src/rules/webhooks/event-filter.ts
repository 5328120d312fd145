// Decides which events a webhook gets, and what a message says about one (federation 14).

/** Whether a text is a type of the audit trail, or the beginning of types before an asterisk. */
export const isEventPattern = (pattern: string): boolean =>
  /^(?:[a-z_]+\.[a-z_]+|[a-z_]*\*|[a-z_]+\.[a-z_]*\*)$/.test(pattern);

export const takesEvent = (patterns: readonly string[], type: string): boolean =>
  patterns.some((pattern) => (pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern));

export interface ReportedEvent {
  id: string;
  at: Date;
  type: string;
  outcome: string;
  actor?: string | undefined;
  clientId?: string | undefined;
  sub?: string | undefined;
  detail?: Readonly<Record<string, unknown>> | undefined;
}

/** The facts of an event that a message has: ids, names of members and closed words. A fact that is not listed can be a user name, an address or free text. */
const toldFacts = new Set([
  'alg',
  'attempts',
  'attribute',
  'connection',
  'departed',
  'group',
  'group_before',
  'groups',
  'how',
  'joined',
  'kid',
  'kids',
  'members',
  'purpose',
  'resource',
  'role',
  'scope',
  'session',
  'sessions',
  'subs',
  'tokens',
  'version',
  'webhook',
]);

/** The body of a message: the names are those of the audit trail. The network address of the request is not in it (federation FR46). */
export function messageOf({ id, at, type, outcome, actor, clientId, sub, detail = {} }: ReportedEvent): string {
  const told = Object.entries(detail).filter(([name]) => toldFacts.has(name));
  return JSON.stringify({
    type,
    timestamp: at.toISOString(),
    data: {
      id,
      outcome,
      actor,
      client_id: clientId,
      sub,
      ...(told.length > 0 && { detail: Object.fromEntries(told) }),
    },
  });
}
