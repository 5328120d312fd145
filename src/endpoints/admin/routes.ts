// The admin routes under /admin/api: users, clients, sessions, keys, audit, for programs and consoles (decisions section 8).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { randomId } from '../../crypto/secrets.ts';
import { requireAdministrator } from '../../http/admin-access.ts';
import { bearerErrors, noStore } from '../../http/errors.ts';
import { onlyJson } from '../../http/form-body.ts';
import { pageOf, pageShape, readCursor } from '../../http/paging.ts';
import { clientAddress } from '../../http/network.ts';
import { readParameters, text } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import { clientChangeShape, firstProblem, newUserShape, userChangeShape } from '../../oauth/administration.ts';
import { parseClientMetadata, registrableFields } from '../../oauth/client-metadata.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { type Actor, createAdministration } from '../../repositories/administration.ts';
import type { Client, ClientChange } from '../../repositories/clients.ts';
import { newCredentials, secretFor } from '../../tokens/client-credentials.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';
import { auditEventView, clientView, keyView, sessionView, userView } from '../../http/administrator-views.ts';

export const apiVersion = '1.0';

const byClient = z.object({ id: text(255) });
const bySub = z.object({ sub: text(255) });
const approval = z.strictObject({
  version: z
    .int()
    .min(0)
    .max(2 ** 31 - 1),
});
const refusal = approval.extend({ reason: text(1000).min(1) });
const rotation = z.strictObject({ immediate: z.boolean().optional() });
const registrationToken = z.strictObject({
  lifetime: z
    .int()
    .min(1)
    .max(366 * 86_400)
    .optional(),
});
const clientFilter = pageShape.extend({
  status: z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' }).optional(),
  waiting: z.enum(['true', 'false'], { error: 'must be true or false' }).optional(),
});
const sessionFilter = pageShape.extend({ sub: text(255).optional() });
const auditFilter = pageShape.extend({
  type: text(64).optional(),
  client_id: text(255).optional(),
  sub: text(255).optional(),
});

export async function adminEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { config, store, clients, secretBox, passwords, keyRing } = options;
  onlyJson(app);
  app.setErrorHandler(bearerErrors);
  const actors = new WeakMap<FastifyRequest, Actor>();
  const administration = createAdministration(store, (event) => app.log.info({ event: event.type, ...event }, 'audit'));

  app.addHook('onRequest', async (request, reply) => {
    noStore(reply).header('api-version', apiVersion);
    actors.set(request, { actor: await requireAdministrator(request, store), address: clientAddress(request) });
  });
  const by = (request: FastifyRequest): Actor => actors.get(request)!;

  app.get('/admin/api/clients', async (request) => {
    const { limit, cursor, status, waiting } = readParameters(clientFilter, request.query);
    const found = await store.clients.list(
      { status, waiting: waiting === 'true' },
      { limit, after: readCursor(cursor) },
    );
    return pageOf('clients', found, limit, clientView, (client) => ({ at: client.createdAt, id: client.clientId }));
  });

  app.post('/admin/api/clients', async (request, reply) => {
    const body = readBody(z.looseObject({}), request);
    const settings = readBody(clientChangeShape, request);
    const metadata = parseClientMetadata(body, { admin: true });
    const clientId = randomId();
    const credentials = newCredentials(secretBox, clientId, metadata);
    await administration.createClient(by(request), {
      clientId,
      metadata,
      status: settings.status ?? 'enabled',
      approvedBy: settings.status === 'disabled' ? undefined : 'administrator',
      firstParty: settings.first_party ?? false,
      ...credentials.stored,
    });
    const client = await administration.changeClient(by(request), clientId, changeOf(settings));
    reply.code(201);
    return {
      ...clientView(client),
      client_secret: credentials.shown.clientSecret,
      shared_secret: credentials.shown.sharedSecret,
      registration_access_token: credentials.shown.registrationAccessToken,
    };
  });

  app.get('/admin/api/clients/:id', async (request) => {
    const client = await store.clients.find(readParameters(byClient, request.params).id);
    if (!client) throw notFound('there is no such client');
    return clientView(client);
  });

  app.patch('/admin/api/clients/:id', async (request) => {
    const { id } = readParameters(byClient, request.params);
    const body = readBody(z.looseObject({}), request);
    const settings = readBody(clientChangeShape, request);
    const known = [...registrableFields, ...Object.keys(clientChangeShape.shape)];
    const unknown = Object.keys(body).find((member) => !known.includes(member));
    if (unknown !== undefined)
      throw invalidRequest(`${/^[a-z_]{1,64}$/.test(unknown) ? unknown : 'a member'} is not known here`);
    const client = await store.clients.find(id);
    if (!client) throw notFound('there is no such client');
    const change = changeOf(settings);
    const fields = Object.entries(body).filter(([member]) => registrableFields.includes(member));
    if (fields.length > 0) {
      const merged = { ...client.metadata, ...Object.fromEntries(fields) };
      // null takes a member away, as in RFC 7396
      change.metadata = parseClientMetadata(
        Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)),
        { admin: true },
      );
    }
    const issued = change.metadata && secretFor(secretBox, client, change.metadata);
    change.credentials = issued?.credentials;
    if (settings.status === 'enabled' && client.status === 'disabled' && settings.version !== client.version) {
      throw conflict('to enable a client, name the version that you looked at as version');
    }
    let changed: Client = await administration.changeClient(by(request), id, change);
    if (settings.status === 'disabled' && changed.status === 'enabled')
      changed = await administration.disableClient(by(request), id);
    if (settings.status === 'enabled' && changed.status === 'disabled')
      changed = await administration.approveClient(by(request), id, changed.version);
    clients.forget(id);
    return { ...clientView(changed), client_secret: issued?.newSecret };
  });

  app.delete('/admin/api/clients/:id', async (request, reply) => {
    const { id } = readParameters(byClient, request.params);
    await administration.deleteClient(by(request), id);
    clients.forget(id);
    return reply.code(204).send();
  });

  app.post('/admin/api/clients/:id/approve', async (request) => {
    const { id } = readParameters(byClient, request.params);
    const { version } = readBody(approval, request);
    const client = await administration.approveClient(by(request), id, version);
    clients.forget(id);
    return clientView(client);
  });

  app.post('/admin/api/clients/:id/refuse', async (request) => {
    const { id } = readParameters(byClient, request.params);
    const { version, reason } = readBody(refusal, request);
    const client = await administration.refuseClient(by(request), id, version, reason);
    clients.forget(id);
    return clientView(client);
  });

  app.post('/admin/api/clients/:id/disable', async (request) => {
    const { id } = readParameters(byClient, request.params);
    const client = await administration.disableClient(by(request), id);
    clients.forget(id);
    return clientView(client);
  });

  app.get('/admin/api/users', async (request) => {
    const { limit, cursor } = readParameters(pageShape, request.query);
    const found = await store.users.list({ limit, after: readCursor(cursor) });
    return pageOf('users', found, limit, userView, (user) => ({ at: user.createdAt, id: user.sub }));
  });

  app.post('/admin/api/users', async (request, reply) => {
    const body = readBody(newUserShape(config.passwordMinLength), request);
    const user = await administration.createUser(by(request), {
      username: body.username,
      email: body.email,
      emailVerified: body.email_verified,
      passwordHash: body.password === undefined ? undefined : await passwords.hash(body.password),
      groups: body.groups,
      admin: body.admin,
      claims: withoutNulls(body.claims),
    });
    reply.code(201);
    return userView(user);
  });

  app.get('/admin/api/users/:sub', async (request) => {
    const user = await store.users.find(readParameters(bySub, request.params).sub);
    if (!user) throw notFound('there is no such user');
    return userView(user);
  });

  app.patch('/admin/api/users/:sub', async (request) => {
    const { sub } = readParameters(bySub, request.params);
    const body = readBody(userChangeShape(config.passwordMinLength), request);
    const current = await store.users.find(sub);
    if (!current) throw notFound('there is no such user');
    const user = await administration.changeUser(
      by(request),
      sub,
      {
        username: body.username,
        email: body.email,
        emailVerified: body.email_verified,
        groups: body.groups,
        admin: body.admin,
        status: body.status,
        claims: body.claims && withoutNulls({ ...current.claims, ...body.claims }),
      },
      body.password === undefined ? undefined : await passwords.hash(body.password),
    );
    return userView(user);
  });

  app.delete('/admin/api/users/:sub', async (request, reply) => {
    await administration.deleteUser(by(request), readParameters(bySub, request.params).sub);
    return reply.code(204).send();
  });

  app.get('/admin/api/sessions', async (request) => {
    const { limit, cursor, sub } = readParameters(sessionFilter, request.query);
    const found = await store.sessions.list({ sub }, { limit, after: readNumericCursor(cursor) });
    return pageOf('sessions', found, limit, sessionView, (session) => ({ at: session.createdAt, id: session.id }));
  });

  app.delete('/admin/api/sessions/:id', async (request, reply) => {
    await administration.endSession(by(request), readParameters(byClient, request.params).id);
    return reply.code(204).send();
  });

  app.get('/admin/api/audit', async (request) => {
    const { limit, cursor, type, client_id, sub } = readParameters(auditFilter, request.query);
    const found = await store.auditEvents.list(
      { type, clientId: client_id, sub },
      { limit, before: readNumericCursor(cursor)?.id },
    );
    return pageOf('events', found, limit, auditEventView, (event) => ({ at: event.at, id: event.id }));
  });

  app.post('/admin/api/registration-tokens', async (request, reply) => {
    const { lifetime = config.lifetimes.initialAccessToken } = readBody(registrationToken, request);
    const token = newOpaqueToken('initial_access_token');
    const expiresAt = await administration.createRegistrationToken(by(request), token.hash, lifetime);
    reply.code(201);
    return { initial_access_token: token.token, expires_at: expiresAt.toISOString() };
  });

  app.get('/admin/api/keys', async () => ({ keys: keyRing.keys.map(keyView) }));

  app.post('/admin/api/keys', async (request, reply) => {
    const { immediate } = readBody(rotation, request);
    const kids = await keyRing.rotate({ lead: immediate ? 0 : config.lifetimes.keyPublicationLead });
    await administration.keysRotated(by(request), kids);
    reply.code(201);
    return { keys: keyRing.keys.map(keyView) };
  });
}

function readBody<S extends z.ZodType>(schema: S, request: FastifyRequest): z.infer<S> {
  const parsed = schema.safeParse(request.body ?? {});
  if (!parsed.success) throw invalidRequest(firstProblem(parsed.error));
  return parsed.data;
}

function readNumericCursor(cursor: string | undefined): { at: Date; id: string } | undefined {
  const read = readCursor(cursor);
  if (read && !/^\d{1,18}$/.test(read.id)) throw invalidRequest('the parameter cursor is not one that a page gave');
  return read;
}

function changeOf(settings: z.infer<typeof clientChangeShape>): ClientChange {
  return {
    firstParty: settings.first_party,
    selfManaged: settings.self_managed,
    introspect: settings.introspect,
    lifetimes: {
      authorizationCode: settings.authorization_code_lifetime,
      accessToken: settings.access_token_lifetime,
      refreshToken: settings.refresh_token_lifetime,
      idToken: settings.id_token_lifetime,
    },
  };
}

function withoutNulls(claims: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  return (
    claims && Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== undefined))
  );
}
