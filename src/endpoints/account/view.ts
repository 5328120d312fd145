// What the account page shows of a person, of the applications with access, and of the sessions.
import { browserAndSystem } from '../../http/browser-name.ts';
import { legible } from '../../http/claim-text.ts';
import type { Pages } from '../../http/views/index.ts';
import { namedClaims, supportedClaims } from '../../oauth/claims.ts';
import { claimsOfScopes } from '../../oauth/scope.ts';
import type { Grant } from '../../repositories/grants.ts';
import type { SessionSummary } from '../../repositories/sessions.ts';
import type { SettingOutline } from '../../repositories/user-settings.ts';
import type { User } from '../../repositories/users.ts';

type Account = Pages['account'];

/** Every claim that has a value, each with the applications whose grant covers it. */
export function profileView(user: User, grants: readonly Grant[]): Account['profile'] {
  const covered = grants.map(({ clientName, scope, claims }) => ({
    clientName,
    claims: new Set([...claimsOfScopes(scope), ...claims]),
  }));
  const known = namedClaims(
    user,
    supportedClaims.filter((claim) => claim !== 'sub'),
  );
  return Object.entries(known)
    .map(([claim, value]) => ({
      ...legible(claim, value),
      seenBy: covered.filter(({ claims }) => claims.has(claim)).map(({ clientName }) => clientName),
    }))
    .filter(({ value }) => value !== '');
}

export function grantsView(grants: readonly Grant[], settings: readonly SettingOutline[]): Account['grants'] {
  return grants.map((grant) => ({
    clientId: grant.clientId,
    name: grant.clientName,
    scopes: grant.scope,
    claims: grant.claims,
    since: grant.createdAt,
    settings: settings
      .filter(({ clientId }) => clientId === grant.clientId)
      .map(({ key, value, size }) => (value === undefined ? { key, size } : { key, value, size })),
  }));
}

/** @param current the sid of the session of this browser, which comes first */
export function sessionsView(sessions: readonly SessionSummary[], current: string): Account['sessions'] {
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
