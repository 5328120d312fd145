// The admin routes of clients: made, found, shown, changed, approved, refused, given new secrets, disabled, deleted.
import { z } from 'zod';
import { randomId } from '../../crypto/secrets.ts';
import { clientView } from '../../domain/administrator-views.ts';
import { pageOf, pageShape, readCursor } from '../../domain/paging.ts';
import { text } from '../../server/parameters.ts';
import { clientChangeShape } from '../../oauth/administration.ts';
import {
  type ClientMetadata,
  clientMetadataShape,
  parseClientMetadata,
  registrableFields,
} from '../../oauth/client-metadata.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { rule } from '../../oauth/refusals.ts';
import { needsSectorCheck } from '../../oauth/subject-type.ts';
import type { ClientDecision } from '../../domain/administration/administration.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import {
  clientSecrets,
  newCredentials,
  renewedSecrets,
  secretFor,
  type ShownCredentials,
} from '../../tokens/client-credentials.ts';
import { adminRoute, byId } from './route.ts';

const filter = pageShape.extend({
  status: z.enum(['enabled', 'disabled'], rule('status')).optional(),
  waiting: z.enum(['true', 'false'], rule('boolean')).optional(),
  self_registered: z.enum(['true', 'false'], rule('boolean')).optional(),
  q: text(200)
    .optional()
    .describe('Beginnings of words of the name, of the client_id, or of redirect hosts and the domains above them.'),
});
const renewal = z.strictObject({
  secrets: z
    .array(z.enum(clientSecrets, rule('only')))
    .min(1)
    .max(clientSecrets.length)
    .optional()
    .describe('All that the client has, if none is named.'),
});
const approval = z.strictObject({
  version: z
    .int()
    .min(0)
    .max(2 ** 31 - 1),
});
const refusal = approval.extend({ reason: text(1000).min(1) });
const decisions = z
  .strictObject({
    decision: z.enum(['approve', 'refuse'], rule('decision')),
    reason: text(1000).min(1).optional().describe('Needed to refuse; the registrants can read it.'),
    clients: z
      .array(approval.extend({ client_id: text(255) }))
      .min(1)
      .max(100)
      .describe('Each with the version that was looked at.'),
  })
  .refine(({ decision, reason }) => decision === 'approve' || reason !== undefined, {
    path: ['reason'],
    ...rule('refusal-reason'),
  });

// every member of the metadata may be left out, or be null, which takes it away
const metadataChange = Object.fromEntries(
  Object.entries<z.ZodType>(clientMetadataShape.shape).map(([member, rule]) => [
    member,
    withoutDefault(rule).nullable().optional(),
  ]),
);

const tag = 'clients';
const path = '/admin/api/clients';

export const clientRoutes = [
  adminRoute({
    method: 'GET',
    path,
    tag,
    summary: 'Lists clients, newest first; with waiting=true those that wait for a decision, with q what is found',
    query: filter,
    answer: 'ClientPage',
    async handle({ store }, { query: { limit, cursor, status, waiting, self_registered: itself, q: search } }) {
      const selfRegistered = itself === undefined ? undefined : itself === 'true';
      const found = await store.clients.list(
        { status, waiting: waiting === 'true', selfRegistered, search },
        { limit, after: readCursor(cursor) },
      );
      return pageOf('clients', found, limit, clientView, (client) => ({ at: client.createdAt, id: client.clientId }));
    },
  }),
  adminRoute({
    method: 'POST',
    path,
    tag,
    summary: 'Makes a client, enabled unless status says otherwise, and shows its secrets once',
    body: () => clientChangeShape,
    documentedBody: clientMetadataShape.extend(clientChangeShape.shape),
    status: 201,
    answer: 'NewClient',
    async handle({ config, administration, secretBox, checkSector }, { body, by }) {
      const metadata = parseClientMetadata(body, { admin: true }, config);
      await checkSector(metadata);
      const clientId = randomId();
      const credentials = newCredentials(secretBox, clientId, metadata);
      const client = await administration.createClient(
        by,
        {
          clientId,
          metadata,
          status: body.status ?? 'enabled',
          approvedBy: body.status === 'disabled' ? undefined : 'administrator',
          firstParty: body.first_party ?? false,
          ...credentials.stored,
        },
        settingsOf(body),
      );
      return {
        ...clientView(client),
        client_secret: credentials.shown.clientSecret,
        shared_secret: credentials.shown.sharedSecret,
        registration_access_token: credentials.shown.registrationAccessToken,
      };
    },
  }),
  adminRoute({
    method: 'GET',
    path: `${path}/:id`,
    tag,
    summary: 'Shows a client',
    params: byId,
    answer: 'Client',
    async handle({ store }, { params: { id } }) {
      const client = await store.clients.find(id);
      if (!client) throw notFound('there is no such client');
      return clientView(client);
    },
  }),
  adminRoute({
    method: 'PATCH',
    path: `${path}/:id`,
    tag,
    summary: 'Changes what is sent of a client and leaves the rest; null takes a member away',
    params: byId,
    body: () => clientChangeShape,
    documentedBody: z.strictObject({ ...metadataChange, ...clientChangeShape.shape }),
    answer: 'ChangedClient',
    async handle({ config, store, clients, administration, secretBox, checkSector }, { params: { id }, body, by }) {
      const known = [...registrableFields, ...Object.keys(clientChangeShape.shape)];
      const unknown = Object.keys(body).find((member) => !known.includes(member));
      if (unknown !== undefined)
        throw invalidRequest(`${/^[a-z_]{1,64}$/.test(unknown) ? unknown : 'a member'} is not known here`);
      const fields = Object.entries(body).filter(([member]) => registrableFields.includes(member));
      // null takes a member away, as in RFC 7396
      const metadataOf = (client: Client): ClientMetadata =>
        parseClientMetadata(
          Object.fromEntries(
            Object.entries({ ...client.metadata, ...Object.fromEntries(fields) }).filter(([, value]) => value !== null),
          ),
          { admin: true },
          config,
        );
      // the document is fetched before the client is locked
      const looked = fields.length > 0 ? await store.clients.find(id) : undefined;
      const foreseen = looked && metadataOf(looked);
      if (looked && foreseen && needsSectorCheck(foreseen, looked.metadata)) await checkSector(foreseen);
      let newSecret: string | undefined;
      const changed = await administration.changeClient(by, id, (client) => {
        const { status, version } = body;
        const decision: ClientDecision = { ...settingsOf(body), status, version };
        if (status === 'enabled' && client.status === 'disabled' && version === undefined)
          throw conflict('to enable a client, name the version that you looked at as version');
        if (fields.length === 0) return decision;
        const metadata = metadataOf(client);
        if (needsSectorCheck(metadata, client.metadata) && needsSectorCheck(metadata, foreseen)) {
          throw conflict('the client changed meanwhile: try again');
        }
        const issued = secretFor(secretBox, client, metadata);
        newSecret = issued?.newSecret;
        return { ...decision, metadata, credentials: issued?.credentials };
      });
      clients.forget(id);
      return { ...clientView(changed), client_secret: newSecret };
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/:id`,
    tag,
    summary: 'Deletes a client with all that was issued to it',
    params: byId,
    async handle({ administration, clients }, { params: { id }, by }) {
      await administration.deleteClient(by, id);
      clients.forget(id);
    },
  }),
  adminRoute({
    method: 'POST',
    path: `${path}/:id/approve`,
    tag,
    summary:
      'Enables a client that is disabled, whose changes go on waiting, or approves what waits of an enabled one, if it still is at the version that was looked at',
    params: byId,
    body: () => approval,
    answer: 'Client',
    async handle({ administration, clients }, { params: { id }, body: { version }, by }) {
      const client = await administration.approveClient(by, id, version);
      clients.forget(id);
      return clientView(client);
    },
  }),
  adminRoute({
    method: 'POST',
    path: `${path}/:id/refuse`,
    tag,
    summary: 'Refuses what waits for approval, with a reason that the registrant can read',
    params: byId,
    body: () => refusal,
    answer: 'Client',
    async handle({ administration, clients }, { params: { id }, body: { version, reason }, by }) {
      const client = await administration.refuseClient(by, id, version, reason);
      clients.forget(id);
      return clientView(client);
    },
  }),
  adminRoute({
    method: 'POST',
    path: `${path}/decide`,
    tag,
    summary:
      'Approves or refuses what waits of several clients, each by itself: one that changed keeps none of the others up',
    body: () => decisions,
    answer: 'DecisionOutcomes',
    async handle({ administration, clients }, { body: { decision, reason, clients: looked }, by }) {
      const outcomes = await administration.decideClients(
        by,
        looked.map(({ client_id: clientId, version }) => ({ clientId, version })),
        decision === 'refuse' ? reason : undefined,
      );
      for (const { clientId } of outcomes) clients.forget(clientId);
      return { outcomes: outcomes.map(({ clientId, outcome }) => ({ client_id: clientId, outcome })) };
    },
  }),
  adminRoute({
    method: 'POST',
    path: `${path}/:id/secrets`,
    tag,
    summary: 'Makes new secrets for a client and shows them once; the old ones stop working at once',
    params: byId,
    body: () => renewal,
    answer: 'NewSecrets',
    async handle({ administration, clients, secretBox }, { params: { id }, body: { secrets }, by }) {
      let shown: Partial<ShownCredentials> = {};
      const client = await administration.renewSecrets(by, id, (current) => {
        const renewed = renewedSecrets(secretBox, current, secrets);
        shown = renewed.shown;
        return renewed.credentials;
      });
      clients.forget(id);
      return {
        client_id: client.clientId,
        version: client.version,
        client_secret: shown.clientSecret,
        shared_secret: shown.sharedSecret,
        registration_access_token: shown.registrationAccessToken,
      };
    },
  }),
  adminRoute({
    method: 'POST',
    path: `${path}/:id/disable`,
    tag,
    summary: 'Disables a client and ends all sessions and tokens of it',
    params: byId,
    answer: 'Client',
    async handle({ administration, clients }, { params: { id }, by }) {
      const { client } = await administration.disableClient(by, id);
      clients.forget(id);
      return clientView(client);
    },
  }),
];

/** What may be sent, without what is taken when nothing is sent. */
function withoutDefault(rule: z.ZodType): z.ZodType {
  if (rule instanceof z.ZodPipe) return withoutDefault(rule.in as z.ZodType);
  return rule instanceof z.ZodDefault ? (rule.unwrap() as z.ZodType) : rule;
}

function settingsOf(settings: z.infer<typeof clientChangeShape>): ClientChange {
  return {
    firstParty: settings.first_party,
    selfManaged: settings.self_managed,
    introspect: settings.introspect,
    requiredAcr: settings.required_acr,
    lifetimes: {
      authorizationCode: settings.authorization_code_lifetime,
      accessToken: settings.access_token_lifetime,
      refreshToken: settings.refresh_token_lifetime,
      idToken: settings.id_token_lifetime,
    },
  };
}
