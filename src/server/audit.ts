// Records the security-relevant events of requests in the audit trail: one row and one log line each.
import type { FastifyRequest } from 'fastify';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { Repositories } from '../repositories/store.ts';
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
