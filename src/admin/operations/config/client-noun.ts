// Says how clients stand in configuration files: their registrable metadata with their declared settings.
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { clientSettings, type ClientSettingsChange } from '../../../entities/client-settings.ts';
import { roles } from '../../../entities/roles.ts';
import { changed, type Entity, type Input, member, type Members, starts, viewOf } from '../../../entities/entity.ts';
import { entryShape, fromFile, readEntry, toFile, variableOf } from '../../../entities/file.ts';
import { digest, equalDigests } from '../../../crypto/secrets.ts';
import { otherKinds } from '../../../rules/clients/kinds.ts';
import { consoleClientId } from '../../../rules/clients/console-client.ts';
import { checkGivenSecret, givenClientId, givenCredentials } from '../../../rules/clients/given-credentials.ts';
import { firstPageOf } from '../../../rules/sites/addresses.ts';
import {
  type ClientMetadata,
  clientMetadataShape,
  needsSecret,
  parseClientMetadata,
  registrableFields,
} from '../../../oauth/client-metadata.ts';
import { invalidRequest } from '../../../oauth/errors.ts';
import { refusal, rule } from '../../../oauth/refusals.ts';
import { splitScope } from '../../../oauth/scope.ts';
import { needsSectorCheck } from '../../../oauth/subject-type.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import { storedSecret } from '../../../tokens/client-credentials.ts';
import { roleActs } from '../claims.ts';
import { refuseOfDerived } from '../client-kinds/client-kind.ts';
import { findKind } from '../client-kinds/kinds.ts';
import { approveClient, decideClients } from '../client-decisions.ts';
import { changeClient, createClient, deleteClient, disableClient, renewSecrets, showClient } from '../clients.ts';
import { documentedChangeShape } from '../client-members.ts';
import type { OperationContext } from '../operation.ts';
import { changeMetadata, clientClaims, clientPage, reviseTypedClient } from '../pages/clients.ts';
import { type Act, type FileNoun, type Found, mostListed, type Secrets } from './noun.ts';

const metadataMembers: Members = Object.fromEntries(
  Object.entries<z.ZodType>(clientMetadataShape.shape).map(([name, rule]) => {
    const said = (documentedChangeShape.shape as Record<string, z.ZodType>)[name]?.description ?? '';
    const [inner, start] = withoutDefault(rule);
    return [name, member(said, inner, start === undefined ? {} : { start })];
  }),
);

/** The rule of a member without its default, and the default. */
function withoutDefault(rule: z.ZodType): [z.ZodType, unknown] {
  if (rule instanceof z.ZodPipe && rule.in instanceof z.ZodDefault) {
    const [inner, start] = withoutDefault(rule.in);
    return [inner.pipe(rule.out as z.ZodType), start];
  }
  if (rule instanceof z.ZodDefault) return [rule.unwrap() as z.ZodType, rule.def.defaultValue];
  return rule instanceof z.ZodOptional ? [rule.unwrap() as z.ZodType, undefined] : [rule, undefined];
}

/** Their defaults and conversions are those of an entity. */
const settings: Entity = { table: 'clients', one: 'client', permission: 'clients', members: clientSettings };

/** The members of an entry: they are no table, since the metadata are one value. */
const declared = {
  one: 'client',
  permission: 'clients' as const,
  members: {
    client_id: member('The client_id.', givenClientId, { required: true, fixed: true }),
    kind: member(
      'The kind of a client that is no client of OAuth: proxy for a protected site, saml for a SAML application.',
      z.enum(otherKinds, rule('one-of', { values: otherKinds.join(', ') })),
      {
        fixed: true,
      },
    ),
    ...metadataMembers,
    ...settings.members,
    roles: member(
      'The roles of the client, each by its name.',
      z.record(z.string(), entryShape(roles, 'name').nullable()),
      { start: {} },
    ),
    status: member('Whether the client is enabled.', z.enum(['enabled', 'disabled']), { start: 'enabled' }),
    client_secret: member(
      'The secret; with generate the service creates one.',
      givenCredentials.client_secret.unwrap(),
      {
        secret: true,
      },
    ),
    weak_secret: member(givenCredentials.weak_secret.description!, z.boolean(), {
      start: false,
      noSecret: 'It is a word about one.',
    }),
  } satisfies Members as Members,
};
const shape = entryShape(declared, 'client_id');
const words = ['weak_secret'];
const without = (values: Input, names: readonly string[]): Input =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => !names.includes(name) && value !== undefined));

type Roles = Record<string, Input>;
/** The roles of a client by their names, with their defaults. */
const rolesOf = (given: Readonly<Record<string, Input | null>>): Roles =>
  Object.fromEntries(
    Object.entries(given).map(([name, role]) => [name, without(fromFile(roles, { ...role, name }).input, ['name'])]),
  );
const roleEntry = (role: object): Input => without(toFile(roles, role), ['name']);
const roleEntries = (own: readonly { name: string }[]): Roles =>
  Object.fromEntries(own.map((role) => [role.name, roleEntry(role)]));

const shownOf = (client: Client, own: readonly { name: string }[]): Input =>
  without(
    {
      ...client.metadata,
      kind: client.kind === 'oauth' ? undefined : client.kind,
      ...viewOf(settings.members, client),
      roles: rolesOf(roleEntries(own)),
      status: client.status,
    },
    [],
  );

/** The metadata of an entry. The scopes of APIs are checked when they are stored, since the file may create them first. */
function metadataOf({ config }: OperationContext, entry: Input): ClientMetadata {
  const kind = findKind(entry['kind'] as string | undefined);
  const own = Object.fromEntries(
    registrableFields.flatMap((name) =>
      entry[name] === undefined || entry[name] === null ? [] : [[name, entry[name]]],
    ),
  );
  // the rules of the entry have checked its settings
  const derived = kind?.derived?.(entry as ClientSettingsChange, config);
  refuseOfDerived(derived, own);
  const given = { ...kind?.metadata, ...own, ...derived };
  const apiScopes = typeof given['scope'] === 'string' ? splitScope(given['scope']) : [];
  const options = { admin: true, development: entry['development'] === true, apiScopes };
  return parseClientMetadata(given, { ...options, withoutGrants: kind?.stored === 'saml' }, config);
}

/** The metadata without members whose value is their default, if nothing else depends on them. */
function shortMetadata(context: OperationContext, metadata: Input, { kind, hosts, development }: Client): Input {
  const ofKind = kind === 'oauth' ? undefined : metadataOf(context, { kind, hosts });
  if (ofKind)
    // metadata are read by any name here, which their type does not allow
    return Object.fromEntries(
      Object.entries(metadata).filter(([name, value]) => !isDeepStrictEqual(value, (ofKind as unknown as Input)[name])),
    );
  const usesCode = isDeepStrictEqual(metadata['grant_types'], ['authorization_code']);
  const isDefault = (name: string, value: unknown) =>
    name === 'grant_types'
      ? usesCode && isDeepStrictEqual(metadata['response_types'], ['code'])
      : name === 'response_types'
        ? isDeepStrictEqual(value, (metadata['grant_types'] as string[]).includes('authorization_code') ? ['code'] : [])
        : isDeepStrictEqual(value, metadataMembers[name]?.start);
  const short = Object.fromEntries(
    Object.entries(metadata).filter(([name, value]) => value !== undefined && !isDefault(name, value)),
  );
  // a profile or a setting may give another default
  const whole = metadataOf(context, { ...short, development });
  return isDeepStrictEqual({ ...whole }, { ...without(metadata, []) }) ? short : metadata;
}

function foundOf(context: OperationContext, client: Client, own: readonly { name: string }[]): Found {
  const { clientId, metadata, secretHash } = client;
  const has = needsSecret(metadata) && secretHash !== undefined;
  return {
    key: clientId,
    shown: shownOf(client, own),
    secrets: {
      client_secret: { set: has, equals: (value) => has && equalDigests(digest('client_secret', value), secretHash) },
    },
    entry() {
      const defaults = viewOf(settings.members, starts(settings));
      const set = Object.entries(viewOf(settings.members, client)).filter(
        ([name, value]) => value !== undefined && !isDeepStrictEqual(value, defaults[name]),
      );
      return {
        ...(client.kind !== 'oauth' && { kind: client.kind }),
        ...shortMetadata(context, metadata, client),
        ...Object.fromEntries(set),
        ...(own.length > 0 && { roles: roleEntries(own) }),
        ...(client.status === 'disabled' && { status: 'disabled' }),
        ...(has && { client_secret: { env: variableOf('client', clientId, 'client_secret') } }),
        ...(client.weakSecret && { weak_secret: true }),
      };
    },
    madeAt: client.createdAt.toISOString(),
    version: JSON.stringify([client.version, own]),
    state: () => JSON.stringify([shownOf(client, own), secretHash?.toString('base64')]),
    isForeign: client.selfRegistered,
  };
}

async function changeRoles({ context, by: actor }: Act, id: string, before: Roles, wanted: Roles): Promise<void> {
  for (const role of Object.keys(before))
    if (!Object.hasOwn(wanted, role))
      await roleActs.remove.handler(context, { params: { id, role }, input: {}, actor });
  for (const [role, members] of Object.entries(wanted)) {
    const input = { ...members };
    if (!Object.hasOwn(before, role))
      await roleActs.create.handler(context, { params: { id }, input: { ...input, name: role }, actor });
    else if (!isDeepStrictEqual(before[role], members))
      await roleActs.change.handler(context, { params: { id, role }, input, actor });
  }
}

/** @throws OAuthError invalid_request */
async function giveSecret(
  { context, by }: Act,
  clientId: string,
  secrets: Secrets,
  words: Input | undefined,
): Promise<void> {
  const value = secrets['client_secret']?.value;
  if (value === undefined) return;
  await context.administration.renewSecrets(by, clientId, (client) => {
    const weakSecret = checkGivenSecret({ client_secret: value, ...words }, client.metadata);
    return { ...storedSecret(context.secretBox, clientId, client.metadata, value), weakSecret };
  });
}

export const clientNoun: FileNoun = {
  section: 'clients',
  of: declared,
  key: 'client_id',
  async list(context) {
    const clients = await context.store.clients.list({}, { limit: mostListed, after: undefined });
    const own = await context.store.clientRoles.all();
    // the console's own client and those that are known by their document have the rules of the service
    return clients
      .filter(({ clientId, origin }) => clientId !== consoleClientId && origin === 'service')
      .map((client) => foundOf(context, client, own.get(client.clientId) ?? []));
  },
  async find(context, id) {
    const client = await context.store.clients.find(id);
    return client && foundOf(context, client, await context.store.clientRoles.list(undefined, id));
  },
  on: {
    param: 'id',
    shows: [showClient, clientPage, clientClaims, disableClient, renewSecrets],
    change: changeClient,
    others: [
      deleteClient,
      reviseTypedClient,
      changeMetadata,
      approveClient,
      decideClients,
      roleActs.create,
      roleActs.change,
      roleActs.remove,
    ],
    namesIn(params, input) {
      // a refusal leaves the client as it is
      const { decision, clients } = input as Partial<Parameters<typeof decideClients.handler>[1]['input']>;
      if (clients) return decision === 'approve' ? clients.map((one) => one.client_id) : [];
      return [(params as { id: string }).id];
    },
  },
  read(context, key, entry) {
    const id = givenClientId.safeParse(key);
    if (!id.success || key === consoleClientId) throw invalidRequest(refusal('client-id', 'client_id'));
    const { input, secrets } = readEntry(declared, shape, entry ?? {});
    const metadata = metadataOf(context, entry as Input);
    const kind = findKind(input['kind'] as string | undefined);
    const [host] = (input['hosts'] ?? []) as string[];
    const usual = { ...kind?.settings, ...(host !== undefined && { start_uri: firstPageOf(host) }) };
    const set = changed(settings, starts(settings), { ...usual, ...input });
    const others = { roles: rolesOf((input['roles'] ?? {}) as Roles), status: input['status'] ?? 'enabled' };
    const values = without({ ...metadata, kind: input['kind'], ...viewOf(settings.members, set), ...others }, words);
    if (secrets['client_secret'] !== undefined && !needsSecret(metadata))
      throw invalidRequest(refusal('secret.none', 'client_secret'));
    return { key, values, secrets, words: { weak_secret: input['weak_secret'] === true } };
  },
  check(_context, { values, words }, secrets, found) {
    // the values are checked metadata and more, and the compiler knows only that they are members
    const metadata = values as unknown as ClientMetadata;
    const secret = secrets['client_secret'];
    if (!found && !secret && needsSecret(metadata)) throw invalidRequest(refusal('missing', 'client_secret'));
    if (secret?.value !== undefined) checkGivenSecret({ client_secret: secret.value, ...words }, metadata);
  },
  async create({ context, by }, { key, values: { roles: own, ...values }, words }, secrets) {
    const secret = secrets['client_secret'];
    const input = { ...values, client_id: key, client_secret: secret?.value, ...words };
    await createClient.handler(context, { params: {}, input: input as never, actor: by });
    await changeRoles({ context, by }, key, {}, own as Roles);
  },
  async change(act, before, change, secrets, { words }) {
    const { status, roles: own, ...members } = change;
    const call = (input: object) =>
      changeClient.handler(act.context, { params: { id: before.key }, input: input as never, actor: act.by });
    if (Object.keys(members).length > 0) await call(members);
    if (own !== undefined) await changeRoles(act, before.key, before.shown['roles'] as Roles, (own ?? {}) as Roles);
    if (status !== undefined) {
      const { version } = (await act.context.store.clients.find(before.key))!;
      await call({ status, ...(status === 'enabled' && { version }) });
    }
    await giveSecret(act, before.key, secrets, words);
  },
  async remove({ context, by }, key) {
    await deleteClient.handler(context, { params: { id: key }, input: {}, actor: by });
  },
  async prepare(context, wanted) {
    const metadata = metadataOf(context, wanted.values);
    const before = await context.store.clients.find(wanted.key);
    if (!before || needsSectorCheck(metadata, before.metadata)) await context.checkSector(metadata);
    // the transaction does not wait for the document again
    return { inside: (within) => ({ ...within, checkSector: async () => undefined }) };
  },
  async effects({ store }, { key, shown }, change): Promise<Record<string, number>> {
    const client = await store.clients.find(key);
    const waiting: Record<string, number> = client?.pendingMetadata ? { changes_that_wait_for_approval: 1 } : {};
    if (!change || change['status'] === 'disabled') return { ...waiting, ...(await store.planEffects.ofClient(key)) };
    if (!admission.some((name) => change[name] !== undefined)) return waiting;
    const [access, groups, connections] = admission.map((name) => change[name] ?? shown[name]) as [
      string,
      string[],
      string[],
    ];
    const { users, ...ended } = await store.planEffects.ofAccess(key, { access, groups, connections });
    return { ...waiting, users_who_lose_the_client: users, ...ended };
  },
};
/** What decides which users the client admits. */
const admission = ['access', 'access_groups', 'connections'];
