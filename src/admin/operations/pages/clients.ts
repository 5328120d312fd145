// Declares what the console's pages about clients read and change beside the operations of the API.
import type { ClientDecision } from '../../../domain/administration/administration.ts';
import { registrableApiScopes } from '../../../domain/resources/api-scopes.ts';
import { type ClientMetadata, displayName } from '../../../oauth/client-metadata.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import type { Store } from '../../../repositories/store.ts';
import type { ClientKind } from '../client-kinds/client-kind.ts';
import { makeClient, reviseClient } from '../client-revisions.ts';
import { findClient } from '../clients.ts';
import { pageOperation } from '../operation.ts';
import { lookUpReviews } from './client-reviews.ts';
import { findNamed, namesIn } from './names.ts';

/** The maximum to which a figure of a client is counted. */
export const maxCounted = 1000;
/** The most users with a role that the page of claims lists. */
const maxHolders = 50;

type List = Store['clients']['list'];
export const findClients = pageOperation(
  'clients',
  'read',
  ({ store }, { filter, page }: { filter: Parameters<List>[0]; page: Parameters<List>[1] }) =>
    store.clients.list(filter, page),
);

/** How many clients wait for a decision, counted up to `most`. */
export const countToDecide = pageOperation('clients', 'read', ({ store }, most: number) =>
  store.clients.countToDecide(most),
);

/** When clients were last used. */
export const usesOfClients = pageOperation('clients', 'read', ({ store }, ids: readonly string[]) =>
  store.uses.list('clients', ids),
);

/** The keys whose certificates SAML applications need. */
export const publishedSamlKeys = pageOperation('clients', 'read', ({ samlKeys }) => samlKeys.published());

export const findKnownClient = pageOperation('clients', 'read', ({ store }, id: string) => store.clients.find(id));

/** The client that a text names by client_id or name, or why there is none. */
export const clientNamed = pageOperation(
  'clients',
  'read',
  async ({ store }, text: string): Promise<Client | 'unknown' | 'several'> => {
    const exact = await store.clients.find(text);
    if (exact) return exact;
    const found = await store.clients.list({ search: text }, { limit: 50, after: undefined });
    const named = found.filter(
      ({ clientId, metadata }) => displayName(clientId, metadata).toLowerCase() === text.toLowerCase(),
    );
    const [only, other] = named.length > 0 ? named : found;
    if (other) return 'several';
    return only ?? 'unknown';
  },
);

/** Everything on the page of one client: what an administrator reviews, its figures, sessions, logouts and latest events. */
export const clientPage = pageOperation('clients', 'read', async ({ store, samlKeys: keys }, id: string) => {
  // not from the cache: the administrator decides about the version that the page shows
  const client = await findClient(store, id);
  const lookup = await lookUpReviews(store, [client]);
  const origin = lookup.origins.get(id);
  const [uses, certificate, figures, sessions, logouts, events] = await Promise.all([
    store.uses.list('clients', [id]),
    store.clientCertificates.last(id),
    store.clientReview.figures(id, maxCounted),
    store.clientReview.sessions(id, 10),
    store.logoutDeliveries.list({ clientId: id, status: undefined }, { limit: 5, after: undefined }),
    store.auditView.list({ clientId: id }, { limit: 10, before: undefined }),
  ]);
  const creation = origin && { actor: origin.by === 'administrator' ? origin.actor : undefined };
  const names = await namesIn(store, [...events, ...(creation ? [creation] : [])]);
  const samlKeys = client.kind === 'saml' ? await keys.published() : [];
  return {
    client,
    samlKeys,
    usedAt: uses.get(id),
    certificate,
    lookup,
    origin,
    creation,
    figures,
    sessions,
    logouts,
    events,
    names,
  };
});

/** What ends with a client that is disabled or deleted. */
export const clientEnd = pageOperation('clients', 'read', async ({ store }, id: string) => {
  const [figures, users] = await Promise.all([
    store.clientReview.figures(id, maxCounted),
    store.clientReview.signedInUsers(id, maxCounted),
  ]);
  return { figures, users };
});

/** Those of the scopes that belong to resources, or to claims, and that an administrator can give a client. */
export const givableScopes = pageOperation('clients', 'read', ({ store }, scope: unknown) =>
  registrableApiScopes(store, scope, { admin: true }),
);

export const usableResources = pageOperation('clients', 'read', ({ store }, uris: readonly string[]) =>
  store.resources.findUsable([...uris]),
);

/** What the page of a client's claims shows and offers. */
export const clientClaims = pageOperation('clients', 'read', async ({ store }, id: string) => {
  const [roles, scopes] = await Promise.all([store.clientRoles.list(undefined, id), store.scopes.list()]);
  const holders = await Promise.all(
    roles.map(({ name, users }) => (users > 0 ? store.clientRoles.holders(id, name, maxHolders) : [])),
  );
  return { roles: roles.map((role, index) => ({ ...role, holders: holders[index]! })), scopes };
});

/** The user whom a text names, with the roles and the subject that the client would learn. */
export const claimsOfUser = pageOperation(
  'clients',
  'read',
  async ({ store }, { client, login }: { client: Client; login: string }) => {
    const user = await findNamed(store, login);
    if (typeof user === 'string') return user;
    const roles = await store.clientRoles.ofUser(user, client.clientId);
    return { user, roles, sub: await store.pairwiseSubjects.find(client.metadata, user.sub) };
  },
);

export const isClaimScope = pageOperation(
  'clients',
  'read',
  async ({ store }, scope: string) => (await store.scopes.namesAmong([scope])).length > 0,
);

/** Creates a client with the id that its form was made with, and with its credentials. */
export const createTypedClient = pageOperation(
  'clients',
  'change',
  (
    context,
    made: { id: string; metadata: ClientMetadata; settings: Parameters<typeof makeClient>[4]; kind: ClientKind },
    actor,
  ) => makeClient(context, actor, made.id, made.metadata, made.settings, made.kind),
);

export const reviseTypedClient = pageOperation(
  'clients',
  'change',
  (context, { id, metadata, decision }: { id: string; metadata: ClientMetadata; decision: ClientDecision }, actor) =>
    reviseClient(
      context,
      actor,
      id,
      () => metadata,
      () => decision,
    ),
);

/** Changes the metadata that the client has now. */
export const changeMetadata = pageOperation(
  'clients',
  'change',
  async (
    { administration, clients },
    { id, change }: { id: string; change: (metadata: ClientMetadata) => ClientMetadata },
    actor,
  ) => {
    await administration.changeClient(actor, id, ({ metadata }) => ({ metadata: change(metadata) }));
    clients.forget(id);
  },
);
