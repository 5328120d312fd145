// Reads an export of authentik: a blueprint, whose tags are data here.
import { z } from 'zod';
import { isRegistrableScope } from '../../oauth/scope.ts';
import { Tagged } from '../../rules/files/yaml-text.ts';
import { UsageError } from '../command.ts';
import type { FoundUser, Move } from './move.ts';
import type { Source } from './product.ts';
import { quoted } from './report.ts';
import { readYaml } from './yaml-file.ts';

/** Every tag of a blueprint. A value that the product would look up elsewhere is unknown here, and left out. */
const tags = [
  '!AtIndex',
  '!Condition',
  '!Context',
  '!Enumerate',
  '!Env',
  '!File',
  '!Find',
  '!FindObject',
  '!Format',
  '!If',
  '!Index',
  '!KeyOf',
  '!ParseJSON',
  '!Value',
];

type Values = Record<string, unknown>;
const values = z.record(z.string(), z.unknown());
const entryShape = z.looseObject({
  model: z.string(),
  id: z.string().nullish(),
  state: z.unknown().optional(),
  identifiers: values.nullish(),
  attrs: values.nullish(),
});

/** An entry with its values, also those that identify it. */
interface Entry {
  model: string;
  keys: string[];
  of: Values;
}

export async function open([file = '']: readonly string[]): Promise<Source> {
  const { data } = z
    .looseObject({ version: z.literal(1), entries: z.array(z.unknown()) })
    .safeParse(await readYaml(file, tags));
  if (!data) throw new UsageError(`The file ${file} is not a blueprint of authentik.`);
  return { name: 'authentik', moveTo: (move) => moveBlueprint(move, data.entries) };
}

/** Of another value, no entry is found. */
const plain = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
function keyOfFind(model: string, field: unknown, value: unknown): string | undefined {
  const [name, text] = [plain(field), plain(value)];
  return name === undefined || text === undefined ? undefined : `${model} ${name}=${text}`;
}

/** The names by which other entries refer to this one. */
function readEntry(given: unknown): Entry | undefined {
  const read = entryShape.safeParse(given).data;
  if (!read || read.state === 'absent') return undefined;
  const of = { ...read.identifiers, ...read.attrs };
  const pk = plain(of['pk']);
  const finds = Object.entries(of).map(([field, value]) => keyOfFind(read.model, field, value));
  const keys = [read.id ? `id ${read.id}` : undefined, pk === undefined ? undefined : `pk ${pk}`, ...finds];
  return { model: read.model, keys: keys.filter((key) => key !== undefined), of };
}

/** The name that a value refers to: the key itself, `!KeyOf ID`, or `!Find [MODEL, [FIELD, VALUE]]`. */
function referenceOf(value: unknown): string | undefined {
  if (typeof value === 'string' || typeof value === 'number') return `pk ${value}`;
  if (!(value instanceof Tagged)) return undefined;
  if (value.tag === '!KeyOf') return `id ${plain(value.value)}`;
  const [model, condition] = Array.isArray(value.value) ? (value.value as unknown[]) : [];
  const [field, wanted] = Array.isArray(condition) ? (condition as unknown[]) : [];
  return value.tag === '!Find' && typeof model === 'string' ? keyOfFind(model, field, wanted) : undefined;
}

const textIn = ({ of }: Entry, name: string): string | undefined => {
  const value = Object.hasOwn(of, name) ? of[name] : undefined;
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
};
const listIn = ({ of }: Entry, name: string): unknown[] => {
  const value = Object.hasOwn(of, name) ? of[name] : undefined;
  return Array.isArray(value) ? (value as unknown[]) : value === undefined || value === null ? [] : [value];
};

async function moveBlueprint(move: Move, given: readonly unknown[]): Promise<void> {
  move.section('Configuration');
  const entries = given.flatMap((one, place): Entry[] => {
    const entry = readEntry(one);
    if (!entry)
      move.note(`entry ${place}`, 'The entry has another form than expected, or is to be absent. It is left out.');
    return entry ? [entry] : [];
  });
  const byKey = new Map(entries.flatMap((entry) => entry.keys.map((key): [string, Entry] => [key, entry])));
  const find = (value: unknown) => byKey.get(referenceOf(value) ?? '');
  const ofModel = (model: string) => entries.filter((entry) => entry.model === model);
  const known = new Set(
    [
      'core.group',
      'core.user',
      'core.application',
      'providers_oauth2.oauth2provider',
      'sources_oauth.oauthsource',
      'sources_oauth.useroauthsourceconnection',
    ].map((name) => `authentik_${name}`),
  );
  for (const [model, { length }] of Map.groupBy(entries, (entry) => entry.model))
    if (!known.has(model))
      move.note(`model ${model}`, `Entries of this model have no counterpart. They are left out (${length}).`);
  const groups = moveGroups(move, ofModel('authentik_core.group'), find);
  const applications = Map.groupBy(ofModel('authentik_core.application'), (one) => find(one.of['provider']));
  for (const provider of ofModel('authentik_providers_oauth2.oauth2provider'))
    moveProvider(move, provider, applications.get(provider)?.[0]);
  const sources = new Map<Entry, string>();
  for (const source of ofModel('authentik_sources_oauth.oauthsource')) {
    const id = moveSource(move, source);
    if (id !== undefined) sources.set(source, id);
  }
  const links = new Map<Entry, { connection: string; subject: string }[]>();
  for (const link of ofModel('authentik_sources_oauth.useroauthsourceconnection')) {
    const [user, source] = [find(link.of['user']), find(link.of['source'])];
    const [connection, subject] = [source && sources.get(source), textIn(link, 'identifier')];
    if (!user || connection === undefined || subject === undefined)
      move.note('links', 'A link names a user or a source that is not in the file. It is left out.');
    else if (links.has(user)) links.get(user)!.push({ connection, subject });
    else links.set(user, [{ connection, subject }]);
  }
  move.section('Users');
  for (const user of ofModel('authentik_core.user'))
    await moveUser(move, user, { groups, links: links.get(user) ?? [], find });
}

interface Groups {
  taken: ReadonlySet<Entry>;
  /** Groups whose members are administrators, also by a group above. */
  powerful: ReadonlySet<Entry>;
}

function moveGroups(move: Move, groups: readonly Entry[], find: (value: unknown) => Entry | undefined): Groups {
  const above = (group: Entry) =>
    [...listIn(group, 'parent'), ...listIn(group, 'parents')].flatMap((one) => find(one) ?? []);
  const below = new Map<Entry, Entry[]>();
  for (const group of groups)
    for (const one of above(group)) {
      if (below.has(one)) below.get(one)!.push(group);
      else below.set(one, [group]);
    }
  const powerful = new Set<Entry>();
  const open = groups.filter((group) => group.of['is_superuser'] === true);
  for (let next = open.pop(); next; next = open.pop()) {
    if (powerful.has(next)) continue;
    powerful.add(next);
    for (const one of below.get(next) ?? []) open.push(one);
  }
  const taken = groups.filter((group) => {
    const name = textIn(group, 'name');
    if (name === undefined) move.note('groups', 'A group has no name. It is left out.');
    return name !== undefined && move.group(name);
  });
  return { taken: new Set(taken), powerful };
}

async function moveUser(
  move: Move,
  user: Entry,
  {
    groups,
    links,
    find,
  }: { groups: Groups; links: { connection: string; subject: string }[]; find(value: unknown): Entry | undefined },
): Promise<void> {
  const username = textIn(user, 'username');
  if (username === undefined) {
    move.note('users', 'A user has no name that is a text. It is left out.');
    return;
  }
  // the account of an application has no counterpart: the client acts for itself
  if (textIn(user, 'type')?.endsWith('service_account')) return;
  const note = (said: string) => move.note(`user ${username}`, said);
  const named = listIn(user, 'groups').map((one) => ({ one, group: find(one) }));
  const own = named.flatMap(({ group }) => (group && groups.taken.has(group) ? [group] : []));
  if (own.length < named.length) note('A group of the user is not in the file. It is left out.');
  const [email, name] = [textIn(user, 'email'), textIn(user, 'name')];
  const hash = textIn(user, 'password_hash') ?? textIn(user, 'password');
  const attributes = values.safeParse(user.of['attributes']).data ?? {};
  const others = Object.keys(attributes).filter(
    (attribute) => !attribute.startsWith('goauthentik.io/') && attribute !== 'settings',
  );
  if (others.length > 0)
    note(
      `The attributes ${others.slice(0, 20).map(quoted).join(', ')} are left out. Define them, and import their values.`,
    );
  const found: FoundUser = {
    username,
    ...(textIn(user, 'uuid') !== undefined && { sub: textIn(user, 'uuid')! }),
    // authentik does not say whether it confirmed an address
    ...(email !== undefined && { email }),
    ...(name !== undefined && { name }),
    ...(user.of['is_active'] === false && { status: 'disabled' }),
    ...(hash !== undefined && { password_hash: hash }),
    groups: own.map((group) => textIn(group, 'name')!),
    links,
    admin: named.some(({ group }) => group && groups.powerful.has(group)),
  };
  await move.user(found);
}

const redirectShape = z.looseObject({ matching_mode: z.string().nullish(), url: z.string() });
const scopeMapping = /^goauthentik\.io\/providers\/oauth2\/scope-(\w+)$/;

function moveProvider(move: Move, provider: Entry, application: Entry | undefined): void {
  const id = textIn(provider, 'client_id');
  if (id === undefined) {
    move.note(
      'clients',
      `The provider ${quoted(textIn(provider, 'name') ?? '')} has no client_id that is a text. It is left out.`,
    );
    return;
  }
  const note = (said: string) => move.note(`client ${id}`, said);
  const given = textIn(provider, 'redirect_uris')?.split(/\s+/) ?? listIn(provider, 'redirect_uris');
  const addresses = given.flatMap((one): string[] => {
    const { matching_mode: mode, url } =
      redirectShape.safeParse(typeof one === 'string' ? { url: one } : one).data ?? {};
    if (url === undefined || mode === 'regex')
      note(`The address ${quoted(url ?? '')} is an expression. Register the exact addresses.`);
    return url === undefined || mode === 'regex' ? [] : [url];
  });
  const mode = textIn(provider, 'sub_mode') ?? 'hashed_user_id';
  if (mode !== 'user_uuid')
    note(`Its users have a sub of the kind ${quoted(mode)} there. Here they have another one, also with --keep-subs.`);
  const isPublic = textIn(provider, 'client_type') === 'public';
  const secret = textIn(provider, 'client_secret');
  const start = application && textIn(application, 'meta_launch_url');
  move.client(id, {
    members: {
      client_name: (application && textIn(application, 'name')) ?? textIn(provider, 'name'),
      ...(asksForNoConsent(provider) && { first_party: true }),
      token_endpoint_auth_method: isPublic ? 'none' : 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: addresses,
      scope: scopeOf(provider, note),
      ...(start?.startsWith('https://') && { start_uri: start }),
    },
    ...(!isPublic &&
      secret !== undefined && { secret: { value: secret, keep: () => move.secret(`client-${id}`, secret) } }),
  });
}

/** Whether its authorization has the flow without consent. */
const asksForNoConsent = ({ of }: Entry): boolean =>
  referenceOf(of['authorization_flow'])?.includes('provider-authorization-implicit-consent') ?? false;

/** A scope is an expression there: those that authentik brings along have a name. */
function scopeOf(provider: Entry, note: (said: string) => void): string {
  const named = listIn(provider, 'property_mappings').map((mapping) => {
    const [, condition] = mapping instanceof Tagged && Array.isArray(mapping.value) ? (mapping.value as unknown[]) : [];
    const [field, name] = Array.isArray(condition) ? (condition as unknown[]) : [];
    return field === 'managed' ? scopeMapping.exec(plain(name) ?? '')?.[1] : undefined;
  });
  const known = named.filter((name) => name !== undefined && isRegistrableScope(name));
  if (known.length < named.length)
    note(`${named.length - known.length} of its property mappings are left out: the service runs no expressions.`);
  return [...new Set(['openid', ...(known.length > 0 ? known : ['profile', 'email'])])].join(' ');
}

function moveSource(move: Move, source: Entry): string | undefined {
  const slug = textIn(source, 'slug') ?? '';
  const note = (said: string) => move.note(`connection ${slug}`, said);
  const settings = { client_id: textIn(source, 'consumer_key') };
  const type = textIn(source, 'provider_type');
  const issuer = textIn(source, 'oidc_well_known_url')?.replace(/\/\.well-known\/openid-configuration$/, '');
  const kind =
    type === 'google'
      ? { kind: 'oidc', preset: 'google', settings }
      : type === 'github'
        ? { kind: 'oauth', preset: 'github', settings }
        : type === 'openidconnect'
          ? { kind: 'oidc', settings: { ...settings, issuer } }
          : undefined;
  if (!kind) {
    note(`The type ${quoted(type ?? '')} has no counterpart. The connection is left out, with the links to it.`);
    return undefined;
  }
  const secret = textIn(source, 'consumer_secret');
  const id = /^[a-z][a-z0-9-]{1,39}$/.test(slug)
    ? slug
    : `from-${slug.toLowerCase().replace(/[^a-z0-9-]+/g, '-')}`.slice(0, 40);
  const moved = move.connection(id, {
    ...kind,
    display_name: textIn(source, 'name') ?? slug,
    ...(secret !== undefined && { secret: { value: secret, keep: () => move.secret(`connection-${id}`, secret) } }),
  });
  if (moved)
    note(
      `Register the redirect address \`/connections/${id}/callback\` of this service there${secret === undefined ? ', and enter the secret' : ''}. Then enable the connection.`,
    );
  return moved ? id : undefined;
}
