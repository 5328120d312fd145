// Validates the form of a client, and turns a refusal into the faults that the form shows.
import type { Config } from '../../../config.ts';
import { type ClientMetadata, parseClientMetadata } from '../../../oauth/client-metadata.ts';
import { OAuthError } from '../../../oauth/errors.ts';
import type { Client, ClientChange } from '../../../repositories/clients/clients.ts';
import type { ShownCredentials } from '../../../tokens/client-credentials.ts';
import type { ClientKind } from '../../operations/client-kinds/client-kind.ts';
import { givableScopes } from '../../operations/pages/clients.ts';
import type { AdminSession } from '../admin-session.ts';
import type { Faults, Typed } from '../form.ts';
import { clientForm, clientOfForm } from './fields.ts';

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
  kind?: ClientKind,
  before?: Client,
): Promise<{ metadata: ClientMetadata; settings: ClientChange } | { refusal: FormProblem }> {
  const { metadata, settings, faults } = clientOfForm(typed, kind);
  // only a client that registers itself may omit the name (RFC 7591 2): pages show its id instead
  const isOnlyUnnamed = Object.keys(faults).join() === 'client_name' && faults['client_name']!.code === 'missing';
  if (Object.keys(faults).length > 0 && !isOnlyUnnamed) return { refusal: { faults, status: 400 } };
  try {
    const apiScopes = await admin.run(givableScopes, metadata['scope']);
    const whole = {
      ...(kind?.stored && metadataBeside(kind, before)),
      ...metadata,
      ...kind?.derived?.(settings, config),
    };
    const parsed = parseClientMetadata(
      whole,
      { admin: true, development: settings.development, apiScopes, withoutGrants: kind?.stored === 'saml' },
      config,
    );
    return isOnlyUnnamed ? { refusal: { faults, status: 400 } } : { metadata: parsed, settings };
  } catch (error) {
    const problem = problemOf(error);
    return { refusal: { ...problem, faults: { ...faults, ...problem.faults } } };
  }
}

/** The metadata of a client that the form of its kind does not show. */
function metadataBeside(kind: ClientKind, before: Client | undefined): Record<string, unknown> {
  if (!before) return kind.metadata;
  const shown = new Set(clientForm(kind).map(({ name }) => name));
  return Object.fromEntries(Object.entries(before.metadata).filter(([name]) => !shown.has(name)));
}

/** The conflicts that are a fault of one field. */
const heldCodes: ReadonlySet<string | undefined> = new Set(['resource-held', 'host-held']);

/** Turns a refusal into the problem that the form shows; throws any other error. */
export function problemOf(error: unknown): FormProblem {
  if (!(error instanceof OAuthError) || error.status >= 500) throw error;
  if (error.code === 'conflict' && !heldCodes.has(error.refusal?.code))
    return { faults: {}, changed: true, status: 409 };
  // the page says which files keep the client
  if (error.code === 'kept_by_file') return { faults: {}, status: 409 };
  if (!error.refusal) throw error;
  const { code, member, params } = error.refusal;
  return { faults: { [member.split('.', 1)[0]!]: { code, params } }, status: error.status };
}

/** The new secrets as their page shows them, once. */
export function shownSecrets(
  issuer: string,
  { clientId, kind }: Pick<Client, 'clientId' | 'kind'>,
  shown: Partial<ShownCredentials>,
) {
  const values = {
    client_id: clientId,
    issuer,
    client_secret: kind === 'proxy' ? undefined : shown.clientSecret,
    proxy_secret: kind === 'proxy' ? shown.clientSecret : undefined,
    shared_secret: shown.sharedSecret,
    registration_access_token: shown.registrationAccessToken,
  };
  type Name = keyof typeof values;
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name: name as Name, value }],
  );
}
