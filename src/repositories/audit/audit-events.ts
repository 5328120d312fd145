// Writes the table audit_events: the append-only trail of security-relevant operations.
import { type Sql, statement } from '../../database/database.ts';

/** Every type of event, named after the operation that it records (security R101). */
export const auditEventTypes = [
  'user.signed_in',
  'user.first_factor_shown',
  'user.sign_in_failed',
  'user.locked_out',
  'user.failures_forgotten',
  'user.signed_out',
  'user.created',
  'user.changed',
  'user.disabled',
  'user.deleted',
  'user.password_changed',
  'user.second_factor_added',
  'user.second_factor_removed',
  'user.recovery_codes_renewed',
  'user.recovery_code_used',
  'user.data_downloaded',
  'user.signed_up',
  'user.invited',
  'user.invitation_used',
  'user.invitation_revoked',
  'user.email_verified',
  'user.email_changed',
  'user.email_change_stopped',
  'user.email_kept',
  'users.imported',
  'users.exported',
  'group.created',
  'group.changed',
  'group.deleted',
  'group.guarded',
  'groups.unknown',
  'sign_up_link.created',
  'sign_up_link.changed',
  'sign_up_link.deleted',
  'sign_up_link.used',
  'attribute.created',
  'attribute.changed',
  'attribute.deleted',
  'connection.created',
  'connection.changed',
  'connection.metadata_changed',
  'connection.deleted',
  'exchange_policy.created',
  'exchange_policy.changed',
  'exchange_policy.deleted',
  'token.exchanged',
  'provisioning_target.created',
  'provisioning_target.changed',
  'provisioning_target.deleted',
  'provisioning_target.held',
  'provisioning_target.failing',
  'provisioning_target.approved',
  'provisioning_target.reconciled',
  'trusted_issuer.created',
  'trusted_issuer.changed',
  'trusted_issuer.deleted',
  'connected_server.created',
  'connected_server.changed',
  'connected_server.deleted',
  'authorization_details_type.created',
  'authorization_details_type.changed',
  'authorization_details_type.deleted',
  'id_jag.issued',
  'assertion.accepted',
  'assertion.replayed',
  'scim_source.created',
  'scim_source.changed',
  'scim_source.deleted',
  'scim_token.created',
  'scim_token.deleted',
  'import.held',
  'import.approved',
  'import.failed',
  'upstream_token.read',
  'identity.linked',
  'identity.unlinked',
  'identity.refused',
  'scope.created',
  'scope.changed',
  'scope.deleted',
  'role.created',
  'role.changed',
  'role.deleted',
  'role.given',
  'role.taken',
  'groups.omitted',
  'config.applied',
  'config.taken_over',
  'resource.created',
  'resource.changed',
  'resource.deleted',
  'webhook.created',
  'webhook.changed',
  'webhook.deleted',
  'webhook.disabled',
  'webhook.replayed',
  'consent.granted',
  'consent.denied',
  'consent.withdrawn',
  'access.refused',
  'access.lost',
  'device.requested',
  'device.approved',
  'device.denied',
  'backchannel.requested',
  'backchannel.approved',
  'backchannel.denied',
  'backchannel.ping_failed',
  'client.registered',
  'client.collected',
  'client.updated',
  'client.credentials_renewed',
  'client.created',
  'client.approved',
  'client.refused',
  'client.look_alike_dismissed',
  'client.document_gone',
  'client.expired',
  'client.disabled',
  'client.deleted',
  'client.authentication_failed',
  'client.certificate_changed',
  'code.replayed',
  'code.misused',
  'code.burned',
  'dpop.replayed',
  'refresh_token.reused',
  'refresh_token.misused',
  'token.revoked',
  'session.ended',
  'client_session.ended',
  'logout_token.delivered',
  'logout_token.refused',
  'logout_token.given_up',
  'keys.rotated',
  'keys.withdrawn',
  'saml_key.created',
  'saml_key.activated',
  'saml_key.deleted',
  'saml_session.ended',
  'secret_key.reencrypted',
  'registration_token.created',
  'link.sent',
  'link.created',
  'link.used',
  'mail.given_up',
  'mail.tested',
  'backup.confirmed',
  'backup.noted',
  'appearance.changed',
  'audit_events.expired',
  'audit_events.exported',
] as const;
export type AuditEventType = (typeof auditEventTypes)[number];

export interface AuditEvent {
  type: AuditEventType;
  outcome: 'success' | 'failure';
  /** The actor: a subject, a client id, "command line", "schedule" or "service". */
  actor?: string | undefined;
  clientId?: string | undefined;
  sub?: string | undefined;
  address?: string | undefined;
  /** Facts about the operation; never a secret. */
  detail?: Record<string, string | number | boolean | string[] | undefined> | undefined;
  /** Accept-Language of the request: the language of the mail to an actor who has chosen none. It is not stored. */
  languages?: string | undefined;
}

/** The log that an event's line is written to. */
export interface AuditLog {
  info(line: Record<string, unknown>, message: string): void;
}

/** Called once for each stored event, after its transaction. */
export type EventListener = (event: AuditEvent, log: AuditLog | undefined) => void;

const insert = statement('audit_events.insert', 'SELECT record_event($1)');
const insertMany = statement(
  'audit_events.insert_many',
  'SELECT count(record_event(event)) FROM jsonb_array_elements($1) AS event',
);
// without waiting for the disk: the time of a second flush would reveal that the client exists
const insertForClient = statement(
  'audit_events.insert_for_client',
  `SELECT record_event($1) FROM clients, set_config('synchronous_commit', 'off', true) WHERE client_id = $2`,
);

export function auditEventsRepository(sql: Sql, onEvent: EventListener) {
  return {
    /** @param log the log for the event's line, if not the common one */
    async insert(event: AuditEvent, log?: AuditLog): Promise<void> {
      await sql.query(insert, [eventMembers(event)]);
      onEvent(event, log);
    },
    /** Inserts many events in one statement. */
    async insertMany(events: readonly AuditEvent[]): Promise<void> {
      if (events.length === 0) return;
      await sql.query(insertMany, [JSON.stringify(events.map(eventMembers))]);
      for (const event of events) onEvent(event, undefined);
    },
    /** Inserts an event if the client is registered: invented names must not fill the trail, and must take as long as others (security R39). */
    async insertForClient(event: AuditEvent & { clientId: string }, log?: AuditLog): Promise<void> {
      const rows = await sql.query(insertForClient, [eventMembers(event), event.clientId]);
      if (rows.length > 0) onEvent(event, log);
    },
  };
}

/** The members that record_event() reads. */
export const eventMembers = ({ clientId, ...event }: AuditEvent) => ({ ...event, client_id: clientId });

/** Writes an event as one line of the log. All events have the same members in the same order. */
export function logEvent(log: AuditLog, event: AuditEvent): void {
  const { type, outcome, actor, clientId, sub, address, detail = {} } = event;
  log.info({ event: type, outcome, actor, client_id: clientId, sub, address, detail }, 'audit');
}
