// Notes the certificates with which clients authenticate, so that administrators see when one ends and learn of another one (RFC 8705 7.1).
import type { ClientCertificate } from '../oauth/client-certificate.ts';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { Repositories, Store } from '../repositories/store.ts';

/** Milliseconds in which an instance notes a certificate once. */
const precision = 3_600_000;
/** Clients whose certificates an instance remembers. */
const maxRemembered = 1_000;
/** Characters of a subject that are stored. */
const maxSubject = 1_000;

export type NoteCertificate = (
  clientId: string,
  certificate: ClientCertificate,
  audit: (event: AuditEvent, repositories: Pick<Repositories, 'auditEvents'>) => Promise<void>,
) => Promise<void>;

export function createSeenCertificates(store: Pick<Store, 'transaction'>): NoteCertificate {
  const remembered = new Map<string, number>();
  return async (clientId, { x5t, subject, validTo }, audit) => {
    const key = `${clientId} ${x5t}`;
    const now = performance.now();
    if (now - (remembered.get(key) ?? -Infinity) < precision) return;
    await store.transaction(async (repositories) => {
      const seen = { x5t, subject: subject?.slice(0, maxSubject), expiresAt: validTo };
      if (!(await repositories.clientCertificates.note(clientId, seen))) return;
      const detail = { certificate: x5t, expires: validTo.toISOString() };
      await audit(
        { type: 'client.certificate_changed', outcome: 'success', actor: clientId, clientId, detail },
        repositories,
      );
    });
    remembered.delete(key);
    if (remembered.size >= maxRemembered) remembered.delete(remembered.keys().next().value!);
    remembered.set(key, now);
  };
}
