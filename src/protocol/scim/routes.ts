// Serves SCIM 2.0 below /scim/v2/{source}: a directory writes its users and groups here (RFC 7644, federation 8).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import type { ConnectionKinds } from '../../domain/connections/kinds.ts';
import { createScimGroups, groupResource } from '../../domain/scim/groups.ts';
import { ownAttributes } from '../../domain/scim/projection.ts';
import { createScimUsers, resourceOf } from '../../domain/scim/users.ts';
import type { ScimSource } from '../../entities/scim-sources.ts';
import type { ScimGroup } from '../../repositories/scim/scim-groups.ts';
import type { ScimUser } from '../../repositories/scim/scim-users.ts';
import type { Store } from '../../repositories/store.ts';
import { ScimError, UnknownAttribute } from '../../rules/scim/errors.ts';
import { partOf } from '../../rules/scim/filter.ts';
import { applyOperations, type MemberChange, readOperations } from '../../rules/scim/patch.ts';
import { isObject, isSelected, readMembers, readResource, selected, type Values } from '../../rules/scim/resource.ts';
import { groupType, resourceTypeView, type ResourceType, schemaView, userType } from '../../rules/scim/schemas.ts';
import { parseJson } from '../../oauth/json-text.ts';
import { isRepeated } from '../../server/request-checks.ts';
import { noStore } from '../../server/errors.ts';
import {
  authenticate,
  expectationOf,
  isKnown,
  mostResults,
  type ScimEntrance,
  searchBody,
  searchOf,
  selectionOf,
  TooMany,
} from './requests.ts';
import { baseOf, groupView, listView, scimErrors, send, userView, versionOf } from './responses.ts';

/** The one exception to the limits of bodies: a group may have 10,000 members (federation 8). */
const bodyLimit = 1024 * 1024;
const bodyLimits = { depth: 16, members: 60_000 };

export interface ScimDependencies extends ScimEntrance {
  store: Store;
  config: Config;
  connectionKinds: ConnectionKinds;
}

interface Call {
  source: ScimSource;
  base: string;
  request: FastifyRequest;
  reply: FastifyReply;
  id: string;
}

export async function scimEndpoint(app: FastifyInstance, options: ScimDependencies): Promise<void> {
  const { store, config } = options;
  const users = createScimUsers(options);
  const groups = createScimGroups(options);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(scim\+)?json *(;.*)?$/i,
    { parseAs: 'string', bodyLimit },
    (_request, body, done) => {
      try {
        done(null, body === '' ? undefined : parseJson(body as string, bodyLimits, 'the body'));
      } catch (error) {
        done(error as Error, undefined);
      }
    },
  );
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof TooMany) reply.header('retry-after', String(error.wait));
    // a proxy may have believed the other one of two
    const isDouble = isRepeated(request.raw.rawHeaders, 'authorization');
    return scimErrors(isDouble ? new ScimError(401, 'send the token of this source as Bearer') : error, request, reply);
  });

  const types = async (): Promise<ResourceType[]> => [
    userType(ownAttributes(await store.attributes.listForUse())),
    groupType,
  ];

  /** Declares a route of a source: it authenticates before the body is read. */
  function route(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    act: (call: Call) => Promise<FastifyReply>,
  ) {
    const callers = new WeakMap<FastifyRequest, ScimSource>();
    app.route({
      method,
      url: `/scim/v2/:source${path}`,
      bodyLimit,
      async onRequest(request, reply) {
        noStore(reply);
        callers.set(request, await authenticate(options, request, reply));
      },
      handler(request, reply) {
        const source = callers.get(request)!;
        const { id = '' } = request.params as { id?: string };
        return act({ source, base: baseOf(config.issuer, source), request, reply, id });
      },
    });
  }

  // discovery (RFC 7644 4)
  route('GET', '/ServiceProviderConfig', async ({ base, reply }) => send(reply, 200, serviceProviderConfig(base)));
  route('GET', '/ResourceTypes', async ({ base, reply }) => {
    const all = (await types()).map((type) => resourceTypeView(type, base));
    return send(reply, 200, listView(all, all.length, 1));
  });
  route('GET', '/ResourceTypes/:id', async ({ base, reply, id }) => {
    const type = (await types()).find(({ name }) => name === id);
    if (!type) throw new ScimError(404, 'there is no such resource type');
    return send(reply, 200, resourceTypeView(type, base));
  });
  const schemas = async () => (await types()).flatMap(({ schema, extensions }) => [schema, ...extensions]);
  route('GET', '/Schemas', async ({ base, reply }) => {
    const all = (await schemas()).map((schema) => schemaView(schema, base));
    return send(reply, 200, listView(all, all.length, 1));
  });
  route('GET', '/Schemas/:id', async ({ base, reply, id }) => {
    const schema = (await schemas()).find((one) => one.id.toLowerCase() === id.toLowerCase());
    if (!schema) throw new ScimError(404, 'there is no such schema');
    return send(reply, 200, schemaView(schema, base));
  });

  // users
  async function sendUser({ source, base, request, reply }: Call, status: number, sub: string): Promise<FastifyReply> {
    const user = await users.find(source, sub);
    const { attributes, excluded } = selectionOf(request.query);
    const [type] = await types();
    reply.header('etag', versionOf(user));
    if (status === 201) reply.header('location', `${base}/Users/${sub}`);
    return send(reply, status, selected(type!, userView(base, user), attributes, excluded));
  }
  async function findUsers(
    { source, base }: Call,
    given: Values,
  ): Promise<{ total: number; found: Values[]; startIndex: number }> {
    const { filter, startIndex, count, attributes, excluded } = searchOf(given);
    const [type] = await types();
    const withGroups = isSelected(type!, 'groups', attributes, excluded);
    const { total, users: found } = await users.list(
      source,
      { filter, offset: startIndex - 1, limit: count },
      withGroups,
    );
    return {
      total,
      startIndex,
      found: found.map((user) => selected(type!, userView(base, user), attributes, excluded)),
    };
  }
  route('GET', '/Users', async (call) => {
    const { total, found, startIndex } = await findUsers(call, queryOf(call.request));
    return send(call.reply, 200, listView(found, total, startIndex));
  });
  route('POST', '/Users', async (call) => {
    const [type] = await types();
    return sendUser(call, 201, await users.create(call.source, readResource(type!, call.request.body)));
  });
  route('GET', '/Users/:id', async (call) => {
    const user = await users.find(call.source, call.id);
    if (isKnown(call.request, versionOf(user))) return notModified(call.reply, versionOf(user));
    return sendUser(call, 200, call.id);
  });
  const changeUser = async (call: Call, next: (mine: ScimUser, type: ResourceType) => Values) => {
    const [type] = await types();
    await users.change(call.source, call.id, expectationOf(call.request), (mine) => next(mine, type!));
    return sendUser(call, 200, call.id);
  };
  // a directory that does not say whether a user is active does not change that
  route('PUT', '/Users/:id', (call) =>
    changeUser(call, (mine, type) => ({ active: mine.active, ...readResource(type, call.request.body) })),
  );
  route('PATCH', '/Users/:id', (call) =>
    changeUser(
      call,
      (mine, type) => applyOperations(type, mine.sub, resourceOf(mine), readOperations(call.request.body)).resource,
    ),
  );
  route('DELETE', '/Users/:id', async ({ source, request, reply, id }) => {
    await users.remove(source, id, expectationOf(request));
    return reply.code(204).send();
  });

  // groups
  async function sendGroup({ source, base, request, reply }: Call, status: number, id: string): Promise<FastifyReply> {
    const { attributes, excluded } = selectionOf(request.query);
    const group = await groups.find(source, id, isSelected(groupType, 'members', attributes, excluded));
    reply.header('etag', versionOf({ version: group.version }));
    if (status === 201) reply.header('location', `${base}/Groups/${id}`);
    return send(reply, status, selected(groupType, groupView(base, group), attributes, excluded));
  }
  async function findGroups(
    { source, base }: Call,
    given: Values,
  ): Promise<{ total: number; found: Values[]; startIndex: number }> {
    const { filter, startIndex, count, attributes, excluded } = searchOf(given);
    const withMembers = isSelected(groupType, 'members', attributes, excluded);
    const { total, groups: found } = await groups.list(
      source,
      { filter, offset: startIndex - 1, limit: count },
      withMembers,
    );
    return {
      total,
      startIndex,
      found: found.map((group) => selected(groupType, groupView(base, group), attributes, excluded)),
    };
  }
  const bodyGroup = (body: unknown): { resource: Values; members: MemberChange } => ({
    resource: readResource(groupType, body),
    members: { all: true, add: new Set(readMembers(partOf(body as Values, 'members'))), remove: new Set() },
  });
  route('GET', '/Groups', async (call) => {
    const { total, found, startIndex } = await findGroups(call, queryOf(call.request));
    return send(call.reply, 200, listView(found, total, startIndex));
  });
  route('POST', '/Groups', async (call) =>
    sendGroup(call, 201, await groups.create(call.source, bodyGroup(call.request.body))),
  );
  route('GET', '/Groups/:id', async (call) => {
    const group = await groups.find(call.source, call.id, false);
    const version = versionOf({ version: group.version });
    return isKnown(call.request, version) ? notModified(call.reply, version) : sendGroup(call, 200, call.id);
  });
  const changeGroup = async (
    call: Call,
    next: (mine: ScimGroup) => { resource: Values; members: MemberChange | undefined },
  ) => {
    const { source, id, request, reply } = call;
    await groups.change(source, id, expectationOf(request), next);
    // the answer to a patch of a large group would be much larger than the patch (RFC 7644 3.5.2)
    if (request.method !== 'PATCH' || !(await groups.isLarge(source, id))) return sendGroup(call, 200, id);
    const { version } = await groups.find(source, id, false);
    return reply.code(204).header('etag', versionOf({ version })).send();
  };
  route('PUT', '/Groups/:id', (call) => changeGroup(call, () => bodyGroup(call.request.body)));
  route('PATCH', '/Groups/:id', (call) =>
    changeGroup(call, (mine) =>
      applyOperations(groupType, mine.id, groupResource(mine), readOperations(call.request.body)),
    ),
  );
  route('DELETE', '/Groups/:id', async ({ source, request, reply, id }) => {
    await groups.remove(source, id, expectationOf(request));
    return reply.code(204).send();
  });

  // other addresses get an answer in the form of SCIM, too
  route('GET', '/:unknown', async () => {
    throw new ScimError(404, 'there is no such resource');
  });

  // searches by POST (RFC 7644 3.4.3): that of the root finds users, then groups
  route('POST', '/Users/.search', async (call) => {
    const { total, found, startIndex } = await findUsers(call, searchBody(call.request.body));
    return send(call.reply, 200, listView(found, total, startIndex));
  });
  route('POST', '/Groups/.search', async (call) => {
    const { total, found, startIndex } = await findGroups(call, searchBody(call.request.body));
    return send(call.reply, 200, listView(found, total, startIndex));
  });
  route('POST', '/.search', async (call) => {
    const body = searchBody(call.request.body);
    const { startIndex, count } = searchOf(body);
    const first = await ifKnown(() => findUsers(call, body));
    const rest = { ...body, startIndex: Math.max(1, startIndex - first.total), count: count - first.found.length };
    const second = await ifKnown(() => findGroups(call, rest));
    return send(call.reply, 200, listView([...first.found, ...second.found], first.total + second.total, startIndex));
  });
}

/** A kind of resource that has no attribute of a filter does not match it. */
async function ifKnown<T extends { total: number; found: Values[] }>(
  find: () => Promise<T>,
): Promise<{ total: number; found: Values[] }> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof UnknownAttribute) return { total: 0, found: [] };
    throw error;
  }
}

const queryOf = ({ query }: FastifyRequest): Values => (isObject(query) ? query : {});
const notModified = (reply: FastifyReply, version: string): FastifyReply =>
  reply.code(304).header('etag', version).send();

const serviceProviderConfig = (base: string): Values => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: mostResults },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Bearer token',
      description: 'A token of the source, which an administrator makes, or an access token with the scope scim.',
      specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
});
