// Users, clients and the rest as administrators see them: snake_case, without secrets.
import { acrOf } from '../oauth/acr.ts';
import type { ViewedEvent } from '../repositories/audit/audit-view.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Grant } from '../repositories/clients/grants.ts';
import type { Group } from '../repositories/groups/groups.ts';
import type { LogoutDeliverySummary } from '../repositories/logout-deliveries/logout-deliveries.ts';
import type { Passkey } from '../repositories/second-factors/passkeys.ts';
import type { SecondFactor } from '../repositories/second-factors/second-factors.ts';
import type { SessionSummary } from '../repositories/sessions/sessions.ts';
import type { User } from '../repositories/users/users.ts';
import type { KeyRing } from '../tokens/key-ring.ts';
import { browserName } from './browser-name.ts';

export function clientView(client: Client): Record<string, unknown> {
  return {
    client_id: client.clientId,
    status: client.status,
    version: client.version,
    ...client.metadata,
    pending_changes: client.pendingMetadata,
    first_party: client.firstParty,
    self_managed: client.selfManaged,
    self_registered: client.selfRegistered,
    introspect: client.introspect,
    required_acr: client.requiredAcr,
    approved_by: client.approvedBy,
    awaits_collection: client.uncollected || undefined,
    refusal_reason: client.refusalReason,
    authorization_code_lifetime: client.lifetimes.authorizationCode,
    access_token_lifetime: client.lifetimes.accessToken,
    refresh_token_lifetime: client.lifetimes.refreshToken,
    id_token_lifetime: client.lifetimes.idToken,
    created_at: client.createdAt.toISOString(),
    updated_at: client.updatedAt.toISOString(),
  };
}

export function userView(user: User): Record<string, unknown> {
  return {
    sub: user.sub,
    username: user.username,
    email: user.email,
    email_verified: user.email === undefined ? undefined : user.emailVerified,
    status: user.status,
    admin: user.admin,
    groups: user.groups,
    claims: user.claims,
    has_password: user.passwordHash !== undefined,
    created_at: user.createdAt.toISOString(),
    updated_at: user.updatedAt.toISOString(),
  };
}

export function passkeyView(passkey: Passkey): Record<string, unknown> {
  return {
    id: passkey.id,
    name: passkey.name,
    aaguid: passkey.aaguid,
    backup_eligible: passkey.backupEligible,
    backed_up: passkey.backedUp,
    created_at: passkey.createdAt.toISOString(),
    used_at: passkey.usedAt?.toISOString(),
  };
}

export function sessionView(session: SessionSummary): Record<string, unknown> {
  return {
    id: session.sid,
    sub: session.sub,
    username: session.username,
    created_at: session.createdAt.toISOString(),
    signed_in_at: session.authTime.toISOString(),
    used_at: session.usedAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
    acr: acrOf(session.amr),
    amr: session.amr,
    address: session.address,
    browser: browserName(session.userAgent),
    user_agent: session.userAgent,
    clients: session.clients.map(({ clientId, clientName }) => ({ client_id: clientId, client_name: clientName })),
  };
}

export function logoutDeliveryView(delivery: LogoutDeliverySummary): Record<string, unknown> {
  return {
    id: delivery.id,
    client_id: delivery.clientId,
    sub: delivery.sub,
    sid: delivery.sid,
    status: delivery.status,
    attempts: delivery.attempts,
    last_failure: delivery.lastFailure,
    created_at: delivery.createdAt.toISOString(),
    next_attempt_at: delivery.nextAttemptAt?.toISOString(),
    finished_at: delivery.finishedAt?.toISOString(),
  };
}

export function grantView(grant: Grant): Record<string, unknown> {
  return {
    client_id: grant.clientId,
    client_name: grant.clientName,
    scope: grant.scope.join(' '),
    claims: grant.claims,
    created_at: grant.createdAt.toISOString(),
  };
}

export function groupView(group: Group): Record<string, unknown> {
  return {
    name: group.name,
    description: group.description,
    members: group.members,
    created_at: group.createdAt.toISOString(),
  };
}

export function secondFactorView(factor: SecondFactor): Record<string, unknown> {
  return {
    id: factor.id,
    kind: factor.kind,
    name: factor.name,
    created_at: factor.createdAt.toISOString(),
    used_at: factor.usedAt?.toISOString(),
  };
}

export function keyView(key: KeyRing['keys'][number]): Record<string, unknown> {
  return {
    kid: key.kid,
    alg: key.alg,
    state: key.state,
    active_at: key.activeAt.toISOString(),
    expires_at: key.expiresAt?.toISOString(),
  };
}

export function auditEventView(event: ViewedEvent): Record<string, unknown> {
  return {
    id: event.id,
    at: event.at.toISOString(),
    type: event.type,
    outcome: event.outcome,
    actor: event.actor,
    client_id: event.clientId,
    sub: event.sub,
    address: event.address,
    detail: event.detail,
  };
}
