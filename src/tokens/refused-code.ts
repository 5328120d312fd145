// Names the event of an authorization code that was not redeemed, wherever it was presented (security R101).
import type { RedemptionFailure } from '../oauth/code-redemption.ts';
import type { AuditEvent, AuditEventType } from '../repositories/audit/audit-events.ts';

/** The failures that the audit log records, beside the failure that invalidates a code. */
const events: Partial<Record<RedemptionFailure, AuditEventType>> = {
  replayed: 'code.replayed',
  client: 'code.misused',
  proof: 'dpop.replayed',
};

interface RefusedCode {
  failure: RedemptionFailure;
  burned: boolean;
  /** Whose code it is. */
  clientId?: string | undefined;
  sub?: string | undefined;
}

/** The event of a refusal; undefined for one that is no sign of an attack. */
export function eventOfRefusedCode({
  failure,
  burned,
  clientId,
  sub,
}: RefusedCode): Pick<AuditEvent, 'type' | 'clientId' | 'sub' | 'detail'> | undefined {
  const type = burned ? 'code.burned' : events[failure];
  return type && { type, clientId, sub, detail: { failure: burned ? failure : undefined } };
}
