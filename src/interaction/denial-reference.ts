// Makes the reference of a denial, which the error of the client and the event in the audit trail have.
import { digest } from '../crypto/secrets.ts';
import type { AuthorizationRequestRow } from '../repositories/authorization-requests/authorization-requests.ts';

/** The second request of a double click is stored under another id, and gets the same reference. */
export const denialReference = (
  { createdAt, clientId }: Pick<AuthorizationRequestRow, 'createdAt' | 'clientId'>,
  sub: string,
): string => digest('denial', `${createdAt.toISOString()} ${clientId} ${sub}`).toString('hex', 0, 4);
