// Lists what an administrator's change changed, for the audit trail: members by their names on the wire, never the value of a secret.
import { isDeepStrictEqual } from 'node:util';
import { clientSettings } from '../../entities/client-settings.ts';
import { viewOf } from '../../entities/entity.ts';
import type { AuditEvent } from './audit-events.ts';
import type { Client } from '../clients/clients.ts';
import type { User } from '../users/users.ts';

type Recorded = Pick<AuditEvent, 'type' | 'detail'>;

/** The event of a change of a client; undefined when nothing changed. A trigger does the same for changes by SQL. */
export function clientEvent(before: Client, after: Client): (Recorded & { clientId: string }) | undefined {
  // every change increases the version
  if (before.version === after.version) return undefined;
  const { clientId } = after;
  const detail: AuditEvent['detail'] = { version: after.version };
  const members = changedMembers(clientMembers(before), clientMembers(after));
  if (members.length > 0) detail['members'] = members;
  if (members.includes('scope')) {
    detail['scope_before'] = before.metadata.scope;
    detail['scope'] = after.metadata.scope;
  }
  return { type: clientEventType(before, after), clientId, detail };
}

function clientEventType(before: Client, after: Client): AuditEvent['type'] {
  // a client whose credentials were not collected yet is approved, but stays disabled
  const isLetIn = (client: Client) =>
    client.status === 'enabled' || (client.uncollected && client.approvedBy !== undefined);
  if (isLetIn(after) && (!isLetIn(before) || (before.pendingMetadata && !after.pendingMetadata)))
    return 'client.approved';
  return isLetIn(before) && !isLetIn(after) ? 'client.disabled' : 'client.updated';
}

/** The event of a change of a user; undefined when nothing changed. */
export function userEvent(before: User, after: User): (Recorded & { sub: string }) | undefined {
  const members = changedMembers(userMembers(before), userMembers(after));
  if (members.length === 0) return undefined;
  const detail: AuditEvent['detail'] = { members };
  if (members.includes('admin')) detail['admin'] = after.admin;
  if (members.includes('status')) detail['status'] = after.status;
  const disabled = after.status === 'disabled' && before.status === 'enabled';
  const type = disabled ? 'user.disabled' : members.includes('password') ? 'user.password_changed' : 'user.changed';
  return { type, sub: after.sub, detail };
}

function changedMembers(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name])).sort();
}

/** Without the status, which the type of the event says. */
function clientMembers(client: Client): Record<string, unknown> {
  return {
    ...client.metadata,
    pending_changes: client.pendingMetadata,
    ...viewOf(clientSettings, client),
    logo: client.logo,
    client_secret: client.secretHash,
    shared_secret: client.sharedSecretEncrypted,
    registration_access_token: client.registrationTokenHash,
  };
}

function userMembers(user: User): Record<string, unknown> {
  return {
    ...user.claims,
    username: user.username,
    email: user.email,
    email_verified: user.confirmedBy,
    status: user.status,
    admin: user.admin,
    groups: user.groups,
    password: user.passwordHash,
  };
}
