// The audit trail: one row and one log line for each security-relevant act.
import type { FastifyRequest } from 'fastify';
import type { AuditEvent } from '../repositories/audit-events.ts';
import type { Repositories } from '../repositories/index.ts';
import type { Metrics } from './metrics.ts';
import { clientAddress } from './network.ts';

/**
 * Records an act. Pass the transaction's repositories where the act is one, so that both are stored or neither is.
 */
export type AuditTrail = (
  request: FastifyRequest,
  event: Omit<AuditEvent, 'address'>,
  repositories?: Pick<Repositories, 'auditEvents'>,
) => Promise<void>;

export function createAuditTrail(store: Pick<Repositories, 'auditEvents'>, metrics: Metrics): AuditTrail {
  return async (request, event, repositories = store) => {
    await repositories.auditEvents.insert({ ...event, address: clientAddress(request) });
    metrics.event(event);
    request.log.info(
      {
        event: event.type,
        outcome: event.outcome,
        actor: event.actor,
        client_id: event.clientId,
        sub: event.sub,
        ...event.detail,
      },
      'audit',
    );
  };
}
