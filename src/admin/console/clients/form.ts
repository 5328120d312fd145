// Validates the form of a client, and turns a refusal into the faults that the form shows.
import type { Config } from '../../../config.ts';
import { type ClientMetadata, parseClientMetadata } from '../../../oauth/client-metadata.ts';
import { OAuthError } from '../../../oauth/errors.ts';
import type { ClientChange } from '../../../repositories/clients/clients.ts';
import type { ShownCredentials } from '../../../tokens/client-credentials.ts';
import { givableScopes } from '../../operations/pages/clients.ts';
import type { AdminSession } from '../admin-session.ts';
import type { Faults, Typed } from '../form.ts';
import { clientOfForm } from './fields.ts';

/** Why a form was refused: the faults of its fields, or that the client has changed. */
export interface FormProblem {
  faults: Faults;
  changed?: boolean;
  status: number;
}

/** The typed values as valid metadata, or their faults. */
export async function validated(
  admin: AdminSession,
  typed: Typed,
  config: Config,
): Promise<{ metadata: ClientMetadata; settings: ClientChange } | { refusal: FormProblem }> {
  const { metadata, settings, faults } = clientOfForm(typed);
  // only a client that registers itself may omit the name (RFC 7591 2): pages show its id instead
  const isOnlyUnnamed = Object.keys(faults).join() === 'client_name' && faults['client_name']!.code === 'missing';
  if (Object.keys(faults).length > 0 && !isOnlyUnnamed) return { refusal: { faults, status: 400 } };
  try {
    const apiScopes = await admin.run(givableScopes, metadata['scope']);
    const parsed = parseClientMetadata(metadata, { admin: true, apiScopes }, config);
    return isOnlyUnnamed ? { refusal: { faults, status: 400 } } : { metadata: parsed, settings };
  } catch (error) {
    const problem = problemOf(error);
    return { refusal: { ...problem, faults: { ...faults, ...problem.faults } } };
  }
}

/** Turns a refusal into the problem that the form shows; throws any other error. */
export function problemOf(error: unknown): FormProblem {
  if (!(error instanceof OAuthError) || error.status >= 500) throw error;
  if (error.code === 'conflict' && error.refusal?.code !== 'resource-held')
    return { faults: {}, changed: true, status: 409 };
  if (!error.refusal) throw error;
  const { code, member, params } = error.refusal;
  return { faults: { [member.split('.', 1)[0]!]: { code, params } }, status: error.status };
}

/** The new secrets as their page shows them, once. */
export function shownSecrets(issuer: string, clientId: string, shown: Partial<ShownCredentials>) {
  const values = {
    client_id: clientId,
    issuer,
    client_secret: shown.clientSecret,
    shared_secret: shown.sharedSecret,
    registration_access_token: shown.registrationAccessToken,
  };
  type Name = keyof typeof values;
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name: name as Name, value }],
  );
}
