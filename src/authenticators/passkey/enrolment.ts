// Stores a passkey that a user created, and records it as a second factor.
import type { FastifyRequest } from 'fastify';
import type { MadeCredential } from '../../crypto/passkey.ts';
import { randomId } from '../../crypto/secrets.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { SecondFactorEnrolment } from '../enrolment.ts';
import { authenticatorName } from './passkey-name.ts';
import { passkeyKind } from './passkey.ts';
import { maxPasskeys } from './passkeys.ts';

/**
 * In a transaction that holds the user's row.
 * @returns the recovery codes that come with it, which are shown once; undefined if the passkey is known or the user has too many
 */
export async function storePasskey(
  enrolment: SecondFactorEnrolment,
  request: FastifyRequest,
  repositories: Repositories,
  sub: string,
  credential: MadeCredential,
): Promise<string[] | undefined> {
  const [id, name] = [randomId(), authenticatorName(credential.aaguid, request.headers['user-agent'])];
  if (!(await repositories.passkeys.insert({ id, ...credential, sub, name }, maxPasskeys))) return undefined;
  return enrolment.added(request, repositories, sub, { id, kind: passkeyKind });
}
