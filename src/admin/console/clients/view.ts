// Prepares clients for the console: the row of a list, the facts for a review, and the page of one client.
import type { ClientRow, ClientState, ReviewFacts, SamlValues } from '../../../pages/views/console-clients.ts';
import type { Pages } from '../../../pages/views/index.ts';
import { alike, clientPath, documentFacts, heldBy, hostFacts, waitingAddresses } from '../../client-review.ts';
import { eventRows, linkedNames } from '../linked-names.ts';
import { snippetsOf } from './snippets.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { deviceGrant } from '../../../oauth/registrable-values.ts';
import { splitScope } from '../../../oauth/scope.ts';
import { samlEntityId, samlPaths } from '../../../rules/saml/addresses.ts';
import type { SamlKey } from '../../../domain/keys/saml-keys.ts';
import { startAddress } from '../../../rules/clients/start-address.ts';
import { logoOf } from '../../../rules/images/address.ts';
import { secretsOf } from '../../../tokens/client-credentials.ts';
import { kindOfClient } from '../../operations/client-kinds/kinds.ts';
import { entries, metadataDifference } from '../../../rules/clients/metadata-difference.ts';
import { type clientPage, maxCounted } from '../../operations/pages/clients.ts';
import { hostsOf, type ReviewLookup } from '../../operations/pages/client-reviews.ts';
import type { ClientFigures } from '../../../repositories/clients/client-review.ts';
import type { Client } from '../../../repositories/clients/clients.ts';

export const listPath = '/admin/clients';
export const waitingPath = `${listPath}/waiting`;
export const decidePath = `${listPath}/decide`;

export { clientPath };

/** Whether no administrator has let the client in; an address of it may wait for a second decision. */
const isNew = ({ everEnabled, selfRegistered, approvedBy, refusalReason }: Client): boolean =>
  !everEnabled && selfRegistered && !approvedBy && refusalReason === undefined;

function stateOf(client: Client): ClientState {
  if (client.pendingMetadata && !isNew(client)) return 'change';
  if (client.status === 'enabled') return 'enabled';
  if (client.refusalReason !== undefined && !client.approvedBy) return 'refused';
  if (!client.approvedBy && client.selfRegistered) return 'registration';
  return client.uncollected ? 'collection' : 'disabled';
}

/** Whether an administrator has to decide about the client. */
export const waits = (client: Client): boolean => ['change', 'registration'].includes(stateOf(client));

export const named = (client: Client) => ({
  name: displayName(client.clientId, client.metadata),
  clientId: client.clientId,
  clientUri: clientPath(client.clientId),
});

export function rowOf(client: Client, usedAt: Date | undefined): ClientRow {
  const { name, clientId, clientUri: uri } = named(client);
  const hosts = hostsOf(client.metadata.redirect_uris);
  const { selfRegistered, development, createdAt } = client;
  const kind = kindOfClient(client).name;
  return {
    name,
    clientId,
    uri,
    state: stateOf(client),
    kind,
    hosts,
    selfRegistered,
    development,
    createdAt,
    logo: logoOf(client),
    ...(usedAt && { usedAt }),
  };
}

/** The name that an administrator reviews: the one that the client wants. */
export const nameReviewed = ({ clientId, metadata, pendingMetadata }: Client): string =>
  displayName(clientId, pendingMetadata ?? metadata);

type Dismissal = Parameters<typeof alike>[2];

/** Collects the facts by which an administrator reviews a registration or a change. */
export function reviewFactsOf(client: Client, lookup: ReviewLookup, dismissal: Dismissal): ReviewFacts {
  const { metadata, pendingMetadata: pending } = client;
  const wanted = pending ?? metadata;
  // an approval of a new client leaves out the addresses that wait for another decision
  const pendingMetadata = isNew(client) ? undefined : pending;
  const origin = lookup.origins.get(client.clientId);
  const facts: ReviewFacts = {
    name: nameReviewed(client),
    clientId: client.clientId,
    uri: clientPath(client.clientId),
    kind: pendingMetadata ? 'change' : 'registration',
    hosts: hostFacts(wanted.redirect_uris, pendingMetadata ? metadata.redirect_uris : [], lookup),
    lookAlikes: alike(client, lookup, dismissal),
    heldResources: heldBy(client, lookup),
    changes: pendingMetadata
      ? metadataDifference(metadata, pendingMetadata)
      : Object.entries(metadata).map(([member, value]) => ({
          member,
          added: entries(member, value),
          removed: [],
          kept: [],
        })),
    contacts: wanted.contacts ?? [],
    at: pendingMetadata ? client.updatedAt : client.createdAt,
    awaitsCollection: client.uncollected,
    disabled: pendingMetadata !== undefined && client.status === 'disabled',
    waitingAddresses: waitingAddresses(client),
  };
  const document = documentFacts(client, lookup);
  if (document) facts.document = document;
  if (origin?.address !== undefined) facts.address = origin.address;
  return facts;
}

export const figuresOf = <N extends keyof ClientFigures>(figures: ClientFigures, names: readonly N[]) =>
  names.map((name) => ({ name, count: figures[name] }));

type ClientPage = Pages['console-client'];
type FoundClient = Awaited<ReturnType<(typeof clientPage)['handler']>>;

/** What an administrator enters at a SAML application. */
export const samlValues = (client: Client, issuer: string, keys: readonly SamlKey[]): SamlValues => ({
  metadataUri: samlEntityId(issuer),
  entityId: samlEntityId(issuer),
  ssoUri: issuer + samlPaths.signOn,
  sloUri: issuer + samlPaths.logout,
  ...(client.idpInitiated && { startUri: startAddress({ ...client, startUri: undefined }, issuer)! }),
  certificates: keys.map(({ certificate }) => certificate),
});

/** What the developer of a client needs. */
function connectionDetails(
  client: Client,
  issuer: string,
  { certificate, samlKeys }: Pick<FoundClient, 'certificate' | 'samlKeys'>,
): Pick<ClientPage, 'connect' | 'snippets'> {
  const { metadata, startUri, secretSince, hosts, openPaths, entityId, acsUris = [] } = client;
  const { redirect_uris: redirectUris, post_logout_redirect_uris: postLogoutRedirectUris = [] } = metadata;
  return {
    connect: {
      issuer,
      discoveryUri: `${issuer}/.well-known/openid-configuration`,
      method: metadata.token_endpoint_auth_method,
      ...(secretsOf(client).includes('client_secret') && { secret: secretSince ? { since: secretSince } : {} }),
      redirectUris,
      postLogoutRedirectUris,
      ...(startUri !== undefined && { startUri }),
      ...(client.kind === 'proxy' && { site: { hosts, openPaths } }),
      ...(certificate && { certificate: certificateView(certificate) }),
      ...(entityId !== undefined && {
        saml: { ...samlValues(client, issuer, samlKeys), ownEntityId: entityId, acsUris },
      }),
    },
    snippets: snippetsOf(kindOfClient(client), client, issuer),
  };
}

/** Milliseconds before the end of a certificate in which its page warns. */
const warningTime = 30 * 86_400_000;

function certificateView({ subject = '', expiresAt, x5t }: NonNullable<FoundClient['certificate']>) {
  const left = expiresAt.getTime() - Date.now();
  const state = left < 0 ? 'ended' : left < warningTime ? 'ends' : 'current';
  return { subject: subject === '' ? x5t : subject.split('\n').join(', '), expiresAt, state } as const;
}

/** The facts about one client. */
export function factsOf(
  found: Pick<FoundClient, 'client' | 'lookup' | 'usedAt' | 'certificate' | 'samlKeys'>,
  issuer: string,
  dismissal: Dismissal,
) {
  const { client, lookup, usedAt } = found;
  const { metadata, approvedBy, refusalReason } = client;
  const document = documentFacts(client, lookup);
  return {
    ...named(client),
    ...connectionDetails(client, issuer, found),
    state: stateOf(client),
    kind: kindOfClient(client).name,
    logo: logoOf(client),
    hasUsers:
      client.kind !== 'oauth' || metadata.redirect_uris.length > 0 || metadata.grant_types.includes(deviceGrant),
    scopes: splitScope(metadata.scope),
    ...(usedAt && { usedAt }),
    enabled: client.status === 'enabled',
    facts: {
      lookAlikes: alike(client, lookup, dismissal),
      heldResources: heldBy(client, lookup),
      ...(document && { document }),
    },
    ...(waits(client) && { review: reviewFactsOf(client, lookup, dismissal) }),
    ...(approvedBy && { approvedBy }),
    ...(refusalReason !== undefined && { refusalReason }),
    ...(metadata.client_uri !== undefined && { homeUri: metadata.client_uri }),
    selfRegistered: client.selfRegistered,
    weakSecret: client.weakSecret,
    development: client.development,
    firstParty: client.firstParty,
    selfManaged: client.selfManaged,
    ...(client.access === 'groups' && {
      access: client.accessGroups.map((name) => ({ name, uri: `/admin/groups/${encodeURIComponent(name)}` })),
    }),
    ...(client.networks.length > 0 && { networks: client.networks }),
    ...(client.connections.length > 0 && {
      connections: client.connections.map((id) => ({ id, uri: `/admin/connections/${encodeURIComponent(id)}` })),
    }),
    createdAt: client.createdAt,
    updatedAt: client.updatedAt,
    members: Object.entries(metadata).map(([member, value]) => ({ member, values: entries(member, value) })),
  };
}

/** The figures, sessions, logouts and latest events of a client. */
export function historyOf({
  client,
  origin,
  creation,
  figures,
  sessions,
  logouts,
  events,
  names,
}: FoundClient): Pick<ClientPage, 'figures' | 'most' | 'origin' | 'sessions' | 'logouts' | 'events' | 'auditUri'> {
  const creator = creation && linkedNames(names)(creation);
  return {
    ...(origin && { origin: { ...creator, ...(origin.address !== undefined && { address: origin.address }) } }),
    figures: figuresOf(figures, ['sessions', 'accessTokens', 'refreshTokens', 'grants', 'settings', 'logouts']),
    most: maxCounted,
    sessions: sessions.map(({ sub, username, scope, offline, createdAt }) => ({
      userUri: `/admin/users/${encodeURIComponent(sub)}`,
      username,
      scope,
      offline,
      createdAt,
    })),
    logouts: logouts.map(({ status, attempts, lastFailure, createdAt }) => ({
      status,
      attempts,
      createdAt,
      ...(lastFailure !== undefined && { failure: lastFailure }),
    })),
    events: eventRows(names, events),
    auditUri: `/admin/audit?client=${encodeURIComponent(client.clientId)}`,
  };
}
