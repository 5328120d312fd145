// Checks that the members of a SAML application go together, a part of administration.ts.
import { samlSettings } from '../../entities/saml-application.ts';
import { isTakenKey } from '../../database/database.ts';
import { conflict, invalidRequest } from '../../oauth/errors.ts';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { refusal } from '../../oauth/refusals.ts';
import { attributeOfNameId, nameIdOfAttribute } from '../../rules/saml/name-id.ts';
import type { StoredKind } from '../../rules/clients/kinds.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import type { Repositories } from '../../repositories/store.ts';

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/** Refuses these members for a client of another protocol. @throws OAuthError invalid_request */
export function refuseSamlMembers(kind: StoredKind, change: ClientChange): void {
  if (kind === 'saml') return;
  const member = Object.keys(samlSettings).find((name) => isGiven((change as Record<string, unknown>)[name]));
  if (member !== undefined) throw invalidRequest(refusal('saml.kind', member, { member }));
}

/**
 * Refuses a NameID whose value the users write themselves: it decides who they are at the application.
 * @param editable the claims that users change in their profile
 * @throws OAuthError invalid_request
 */
export function refuseEditableNameId(
  { name_id: wanted }: Pick<ClientChange, 'name_id'>,
  editable: readonly string[],
  before?: Pick<Client, 'nameId'>,
): void {
  const name = attributeOfNameId(wanted);
  if (name !== undefined && wanted !== before?.nameId && editable.includes(name))
    throw invalidRequest(refusal('saml.name-id-written', 'name_id', { name }));
}

/** The same for an attribute that its users write. It cannot be opened to them until the transaction ends. @throws OAuthError invalid_request */
export async function refuseWrittenNameId(
  { attributes }: Pick<Repositories, 'attributes'>,
  { name_id: wanted }: Pick<ClientChange, 'name_id'>,
  before?: Pick<Client, 'nameId'>,
): Promise<void> {
  const name = attributeOfNameId(wanted);
  if (name === undefined || wanted === before?.nameId) return;
  const written = (await attributes.listForUse()).filter(({ person }) => person === 'write').map((one) => one.name);
  refuseEditableNameId({ name_id: wanted }, written, before);
}

/** Refuses to open an attribute to its users that is a NameID. @throws OAuthError conflict */
export async function refuseOpenedNameId({ clients }: Pick<Repositories, 'clients'>, name: string): Promise<void> {
  const client = await clients.findIdByNameId(nameIdOfAttribute(name));
  if (client !== undefined) throw conflict(refusal('saml.names-users', 'person', { client }));
}

/** Refuses a SAML application that could not sign users in, or that mixes protocols. @throws OAuthError invalid_request */
function requireSamlApplication({
  kind,
  metadata,
  entityId,
  acsUris = [],
  certificates = [],
  ...client
}: Pick<Client, 'kind' | 'entityId' | 'acsUris' | 'certificates' | 'sloUri' | 'requireSignedRequests'> & {
  metadata: ClientMetadata;
}): void {
  if (kind !== 'saml') return;
  if (entityId === undefined || acsUris.length === 0)
    throw invalidRequest(refusal('saml.needs', entityId === undefined ? 'entity_id' : 'acs_uris'));
  const { grant_types: grants, response_types: responses, redirect_uris: redirects, scope } = metadata;
  if (grants.length + responses.length + redirects.length > 0 || scope !== '')
    throw invalidRequest(refusal('saml.oauth', grants.length > 0 ? 'grant_types' : 'redirect_uris'));
  if (certificates.length > 0) return;
  // without a key nothing could be verified (federation FR22)
  if (client.requireSignedRequests) throw invalidRequest(refusal('saml.signed', 'require_signed_requests'));
  if (client.sloUri !== undefined) throw invalidRequest(refusal('saml.logout', 'slo_uri'));
}

/** What a change made of a client, if that is whole. @throws OAuthError invalid_request, conflict */
export async function checkedApplication(update: Promise<Client | undefined>): Promise<Client | undefined> {
  const client = await update.catch(refuseTakenEntity);
  if (client) requireSamlApplication(client);
  return client;
}

/** Turns the database's refusal of a second application with an entity ID into that of the member. @throws */
function refuseTakenEntity(error: unknown): never {
  throw isTakenKey(error, 'clients_entity_id') ? conflict(refusal('saml.entity-taken', 'entity_id')) : error;
}
