// Records the security-relevant events of requests in the audit trail: one row and one log line each.
import type { FastifyRequest } from 'fastify';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { Repositories } from '../repositories/store.ts';
import { newReference } from './errors.ts';
import { clientAddress } from './network.ts';

/**
 * Records an event. Inside a transaction pass its repositories, so that the change and its event are stored together or not at all.
 */
export type AuditTrail = (
  request: FastifyRequest,
  event: Omit<AuditEvent, 'address'>,
  repositories?: Pick<Repositories, 'auditEvents'>,
) => Promise<void>;

export function createAuditTrail(store: Pick<Repositories, 'auditEvents'>): AuditTrail {
  return (request, event, repositories = store) =>
    repositories.auditEvents.insert({ ...event, address: clientAddress(request) }, request.log);
}

/** Records a failed sign-in. @returns the reference for its page, by which an administrator finds the event */
export async function auditFailedSignIn(
  audit: AuditTrail,
  request: FastifyRequest,
  { detail, ...of }: Pick<AuditEvent, 'sub' | 'clientId' | 'detail'>,
): Promise<string> {
  const reference = newReference();
  await audit(request, { type: 'user.sign_in_failed', outcome: 'failure', ...of, detail: { ...detail, reference } });
  return reference;
}
