// The audit trail of what requests do: one row and one log line for each security-relevant act.
import type { FastifyRequest } from 'fastify';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { Repositories } from '../repositories/store.ts';
import { clientAddress } from './network.ts';

/**
 * Records an act. Pass the transaction's repositories where the act is one, so that both are stored or neither is.
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
