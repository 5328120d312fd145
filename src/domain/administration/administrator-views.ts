// Writes users, clients and other objects as administrators see them: in snake_case, without secrets.
import { publishedDigest, waitingProvider } from '../connections/saml/provider-metadata.ts';
import { settingParts } from '../../entities/client-settings.ts';
import { view, viewOf } from '../../entities/entity.ts';
import { acrOf } from '../../oauth/acr.ts';
import { logoOf } from '../../rules/images/address.ts';
import { attributesOf, standardClaimsOf } from '../../rules/claims/attributes.ts';
import type { ViewedEvent } from '../../repositories/audit/audit-view.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { ListedGrant } from '../../repositories/clients/grants.ts';
import { type Connection, connections } from '../../entities/connections.ts';
import { type Group, groups } from '../../entities/groups.ts';
import type { LinkedIdentity } from '../../repositories/connections/linked-identities.ts';
import type { LogoutDeliverySummary } from '../../repositories/logout-deliveries/logout-deliveries.ts';
import type { Passkey } from '../../repositories/second-factors/passkeys.ts';
import type { SecondFactor } from '../../repositories/second-factors/second-factors.ts';
import type { SessionSummary } from '../../repositories/sessions/sessions.ts';
import type { User } from '../../repositories/users/users.ts';
import type { KeyRing } from '../../tokens/key-ring.ts';
import { browserName } from '../sessions/browser-name.ts';

/** Returns the members under their names in snake_case, with times in the form of RFC 3339. */
const shown = <T extends object>(entity: T, ...members: readonly (keyof T & string)[]): Record<string, unknown> =>
  Object.fromEntries(
    members.map((member) => {
      const value: unknown = entity[member];
      const name = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [name, value instanceof Date ? value.toISOString() : value];
    }),
  );

export function clientView(client: Client): Record<string, unknown> {
  return {
    client_id: client.clientId,
    kind: client.kind === 'oauth' ? undefined : client.kind,
    status: client.status,
    version: client.version,
    ...client.metadata,
    pending_changes: client.pendingMetadata,
    ...viewOf(settingParts.trust, client),
    self_registered: client.selfRegistered,
    origin: client.origin,
    document_gone: client.documentGone || undefined,
    weak_secret: client.weakSecret || undefined,
    ...viewOf(settingParts.use, client),
    approved_by: client.approvedBy,
    awaits_collection: client.uncollected || undefined,
    refusal_reason: client.refusalReason,
    logo: logoOf(client),
    ...viewOf(settingParts.lifetimes, client),
    ...viewOf(settingParts.saml, client),
    created_at: client.createdAt.toISOString(),
    updated_at: client.updatedAt.toISOString(),
  };
}

export function userView(user: User): Record<string, unknown> {
  const attributes = attributesOf(user.claims);
  return {
    sub: user.sub,
    username: user.username,
    email: user.email,
    email_verified: user.email === undefined ? undefined : user.emailVerified,
    email_confirmed_by: user.email === undefined ? undefined : user.confirmedBy,
    status: user.status,
    admin: user.admin,
    groups: user.groups,
    claims: standardClaimsOf(user.claims),
    ...(Object.keys(attributes).length > 0 && { attributes }),
    has_password: user.passwordHash !== undefined,
    created_at: user.createdAt.toISOString(),
    updated_at: user.updatedAt.toISOString(),
  };
}

export const passkeyView = (passkey: Passkey) =>
  shown(passkey, 'id', 'name', 'aaguid', 'backupEligible', 'backedUp', 'createdAt', 'usedAt');

export function sessionView(session: SessionSummary): Record<string, unknown> {
  return {
    id: session.sid,
    sub: session.sub,
    username: session.username,
    created_at: session.createdAt.toISOString(),
    signed_in_at: session.authTime.toISOString(),
    used_at: session.usedAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
    remembered: session.remembered,
    acr: acrOf(session.amr),
    amr: session.amr,
    address: session.address,
    browser: browserName(session.userAgent),
    browser_name: session.browserName,
    user_agent: session.userAgent,
    clients: session.clients.map(({ clientId, clientName }) => ({ client_id: clientId, client_name: clientName })),
  };
}

export const logoutDeliveryView = (delivery: LogoutDeliverySummary) =>
  shown(
    delivery,
    'id',
    'clientId',
    'sub',
    'sid',
    'status',
    'attempts',
    'lastFailure',
    'createdAt',
    'nextAttemptAt',
    'finishedAt',
  );

export function grantView(grant: ListedGrant): Record<string, unknown> {
  return {
    client_id: grant.clientId,
    client_name: grant.clientName,
    scope: grant.scope.join(' '),
    claims: grant.claims,
    resources:
      grant.apis.length > 0
        ? grant.apis.map(({ resource, name, scope }) => ({ resource, name, scope: scope.join(' ') }))
        : undefined,
    authorization_details: grant.details,
    created_at: grant.createdAt.toISOString(),
  };
}

/** @param group.guarded whether only administrators change the members */
export function groupView(group: Group & { guarded?: boolean }): Record<string, unknown> {
  const { guarded_sources, ...members } = view(groups, group);
  return {
    ...members,
    ...shown(group, 'members', 'createdAt'),
    ...(group.guarded && { guarded: true }),
    ...(group.guardedSources.length > 0 && { guarded_sources }),
  };
}

/** Without the secret: only whether it is set, and since when. */
export const connectionView = (connection: Connection) => ({
  ...view(connections, connection),
  ...shown(connection, 'discoveredAt', 'version', 'createdAt', 'updatedAt'),
  ...(connection.logo !== undefined && { logo: logoOf(connection) }),
  ...(connection.keySince && { key: { since: connection.keySince.toISOString() } }),
  ...waitingView(connection),
});

/** What the identity provider has published since its keys were pinned, and the digest by which an administrator accepts it. */
function waitingView(connection: Connection) {
  const waiting = connection.kind === 'saml' ? waitingProvider(connection) : undefined;
  return waiting ? { published: { ...waiting, digest: publishedDigest({ ...waiting }) } } : {};
}

export const connectionLinkView = ({ connectionId, ...link }: LinkedIdentity) => ({
  connection: connectionId,
  ...shown(link, 'issuer', 'subject', 'how', 'createdAt', 'lastUsedAt'),
});

export const secondFactorView = (factor: SecondFactor) => shown(factor, 'id', 'kind', 'name', 'createdAt', 'usedAt');

export const keyView = (key: KeyRing['keys'][number]) => shown(key, 'kid', 'alg', 'state', 'activeAt', 'expiresAt');

export const auditEventView = (event: ViewedEvent) =>
  shown(event, 'id', 'at', 'type', 'outcome', 'actor', 'clientId', 'sub', 'address', 'detail');
