// Creates and changes a client with its credentials, as the operations of administrators do.
import type { ClientDecision } from '../../domain/administration/administration.ts';
import { refuseEditableNameId } from '../../domain/administration/saml-application.ts';
import { conflict, invalidClientMetadata, invalidRequest } from '../../oauth/errors.ts';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { refusal } from '../../oauth/refusals.ts';
import { needsSectorCheck } from '../../oauth/subject-type.ts';
import { siteSettings } from '../../entities/protected-site.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import { checkGivenSecret, type GivenSecret } from '../../rules/clients/given-credentials.ts';
import type { StoredKind } from '../../rules/clients/kinds.ts';
import { metadataDifference } from '../../rules/clients/metadata-difference.ts';
import { firstPageOf, metadataOfHosts } from '../../rules/sites/addresses.ts';
import { newCredentials, secretFor, type ShownCredentials } from '../../tokens/client-credentials.ts';
import { type ClientKind, refuseOfDerived } from './client-kinds/client-kind.ts';
import type { OperationContext } from './operation.ts';

type Settings = Omit<ClientDecision, 'version' | 'status'>;

/**
 * The metadata that follows from the settings of a client's kind.
 * @throws OAuthError invalid_request for settings of another kind
 */
function metadataOfKind(
  kind: StoredKind,
  { hosts = [] }: { hosts?: readonly string[] },
  given: Settings,
  issuer: string,
): Partial<ClientMetadata> {
  if (kind === 'proxy') return metadataOfHosts(given.hosts ?? hosts, issuer);
  for (const name of Object.keys(siteSettings) as (keyof typeof siteSettings)[]) {
    if (kind === 'saml' && name === 'session_lifetime') continue;
    const value = given[name];
    if (value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0))
      throw invalidRequest(refusal('site.kind', name, { member: name }));
  }
  return {};
}

/** Creates a client with its credentials. @param given what was sent, which may have a secret that the client had before @throws OAuthError if the sector does not fit, or another client holds a resource */
export async function makeClient(
  { administration, config, secretBox, checkSector, samlKeys }: OperationContext,
  actor: Actor,
  clientId: string,
  wanted: ClientMetadata,
  { status = 'enabled', ...settings }: Omit<ClientDecision, 'version'>,
  kind?: ClientKind,
  given: GivenSecret = {},
): Promise<{ client: Client; shown: ShownCredentials }> {
  const own = { ...kind?.settings, ...settings };
  const follows = metadataOfKind(kind?.stored ?? 'oauth', {}, own, config.issuer);
  refuseOfDerived(follows, given);
  const metadata = { ...wanted, ...follows };
  if (kind?.stored === 'proxy') own.start_uri ??= firstPageOf(own.hosts![0]!);
  refuseEditableNameId(own, config.profileEditable);
  const weakSecret = checkGivenSecret(given, metadata);
  await checkSector(metadata);
  const { stored, shown } = newCredentials(secretBox, clientId, metadata, given.client_secret);
  const approvedBy = status === 'enabled' ? ('administrator' as const) : undefined;
  const made = {
    clientId,
    metadata,
    status,
    approvedBy,
    kind: kind?.stored,
    firstParty: own.first_party ?? false,
    ...stored,
    weakSecret,
  };
  // it takes a second of a processor: no user waits for it at the first sign-in
  if (kind?.stored === 'saml') await samlKeys.published();
  const client = await administration.createClient(actor, made, own);
  // a client that is not enabled has no resources yet
  if (kind?.resource && status === 'enabled')
    for (const uri of metadata.resource_uris ?? []) await administration.resources.change(actor, uri, kind.resource);
  // the administrator who gave the secret knows it
  return { client, shown: given.client_secret === undefined ? shown : { ...shown, clientSecret: undefined } };
}

export interface Revised {
  client: Client;
  /** The secret that the change gave the client; it is shown once. */
  newSecret: string | undefined;
  /** The groups that the change admits, and that do not exist. */
  missingGroups?: readonly string[];
}

/**
 * Changes a client; the metadata decides whether it has a secret.
 * @param metadataOf returns the new metadata; it may run again
 */
export async function reviseClient(
  { store, clients, administration, config, secretBox, checkSector }: OperationContext,
  actor: Actor,
  clientId: string,
  metadataOf: ((client: Client) => ClientMetadata) | undefined,
  decide: (client: Client) => ClientDecision,
): Promise<Revised> {
  // the sector document is fetched before the client is locked
  const looked = metadataOf && (await store.clients.find(clientId));
  const foreseen = looked && metadataOf(looked);
  if (looked && foreseen && needsSectorCheck(foreseen, looked.metadata)) await checkSector(foreseen);
  let newSecret: string | undefined;
  const client = await administration.changeClient(actor, clientId, (current) => {
    const decision = decide(current);
    refuseEditableNameId(decision, config.profileEditable, current);
    const follows = metadataOfKind(current.kind, current, decision, config.issuer);
    if (!metadataOf && decision.hosts === undefined) return decision;
    const wanted = metadataOf?.(current) ?? current.metadata;
    refuseOfDerived(follows, wanted, current.metadata);
    const metadata = { ...wanted, ...follows };
    refuseDocumentMembers(current, metadata);
    if (needsSectorCheck(metadata, current.metadata) && needsSectorCheck(metadata, foreseen))
      throw conflict('the client has changed in the meantime: try again');
    const issued = secretFor(secretBox, current, metadata);
    newSecret = issued?.newSecret;
    return { ...decision, metadata, credentials: issued?.credentials };
  });
  clients.forget(clientId);
  return { client, newSecret };
}

/** Only its document changes a client that is known by one, except for the scope. @throws OAuthError invalid_client_metadata */
function refuseDocumentMembers({ origin, metadata }: Client, next: ClientMetadata): void {
  const changed = origin === 'document' ? metadataDifference(metadata, next) : [];
  const member = changed.map((change) => change.member).find((name) => name !== 'scope');
  if (member !== undefined) throw invalidClientMetadata(refusal('document.members', member, { member }));
}
