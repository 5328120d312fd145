// Reads the export of a realm of Keycloak: one file, or a folder with `*-realm.json` and `*-users-N.json`.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../command.ts';
import { ofTheFile } from '../file.ts';
import { readJson } from './json-stream.ts';
import { moveIdentityProvider, moveKeycloakClient } from './keycloak-entries.ts';
import {
  holderShape,
  keyOf,
  readGroups,
  readRoles,
  type RealmGroup,
  type RealmRoles,
  type Role,
  rolesOfGroup,
} from './keycloak-roles.ts';
import type { FoundUser, Move } from './move.ts';
import type { Source } from './product.ts';
import { quoted } from './report.ts';
import { writtenCodeSecret } from '../../crypto/one-time-codes.ts';

/** What is kept in memory of a realm: all but its users. */
interface Realm {
  name: string;
  roles: unknown;
  groups: unknown[];
  clients: unknown[];
  identityProviders: unknown[];
  components: unknown;
}

const sections = ['clients', 'groups', 'identityProviders', 'users'] as const;
const paths = ['$.realm', '$.roles', '$.components', ...sections.map((name) => `$.${name}.*`)];

export async function open([given = '']: readonly string[]): Promise<Source> {
  const files = filesOf(given);
  const realm = await readRealm(files[0]!);
  return {
    name: `keycloak-${realm.name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`.slice(0, 60),
    moveTo: (move) => moveRealm(move, realm, files),
  };
}

/** The file of the realm first. @throws UsageError */
function filesOf(given: string): string[] {
  try {
    if (!statSync(given).isDirectory()) return [given];
    const names = readdirSync(given);
    const [realm, ...others] = names.filter((name) => name.endsWith('-realm.json'));
    if (realm === undefined || others.length > 0)
      throw new UsageError(
        `The folder ${given} must have the export of one realm: a file NAME-realm.json, and NAME-users-0.json and so on.`,
      );
    const prefix = `${realm.slice(0, -'-realm.json'.length)}-users-`;
    const users = names
      .filter((name) => name.startsWith(prefix) && /^\d+\.json$/.test(name.slice(prefix.length)))
      .sort((a, b) => parseInt(a.slice(prefix.length)) - parseInt(b.slice(prefix.length)));
    return [realm, ...users].map((name) => join(given, name));
  } catch (error) {
    throw ofTheFile(error, given);
  }
}

async function readRealm(file: string): Promise<Realm> {
  const realm: Realm = { name: '', roles: {}, groups: [], clients: [], identityProviders: [], components: {} };
  let isRealm = false;
  for await (const { path, value } of readJson(file, paths)) {
    const [section] = path;
    if (section === 'realm' && typeof value === 'string') realm.name = value;
    else if (section === 'roles' || section === 'components') realm[section] = value;
    else if (section === 'groups' || section === 'clients' || section === 'identityProviders')
      realm[section].push(value);
    isRealm ||= section !== 'realm';
  }
  if (realm.name === '' || !isRealm)
    throw new UsageError(`The file ${file} is not the export of a realm of Keycloak (kc.sh export --realm NAME).`);
  return realm;
}

/** Roles that every realm has: their holders get nothing here. */
const isBuiltIn = ({ client, name }: Role): boolean =>
  client === undefined
    ? ['offline_access', 'uma_authorization'].includes(name) || name.startsWith('default-roles-')
    : false;

/** Clients that Keycloak makes for itself. */
const internal = ['account', 'account-console', 'admin-cli', 'broker', 'realm-management', 'security-admin-console'];
const isInternal = (id: string, realm: string) =>
  internal.includes(id) || (realm === 'master' && id.endsWith('-realm'));

const isAdministrator = (realm: string) => (role: Role) =>
  (role.client === 'realm-management' && role.name === 'realm-admin') ||
  (realm === 'master' && role.client === undefined && role.name === 'admin');
const isOfAdministration = (realm: string) => (role: Role) =>
  role.client === 'realm-management' || (realm === 'master' && (role.client?.endsWith('-realm') ?? false));

/** The group of those who have a role of the realm. */
const groupOfRole = (name: string) => `realm-roles/${name}`;

/** What the users of a realm need to know of it. */
interface Context {
  realm: string;
  roles: RealmRoles;
  groups: Map<string, RealmGroup>;
  /** The roles of the realm that became groups of their own. */
  ofRealm: ReadonlySet<string>;
  connections: Map<string, string>;
}

async function moveRealm(move: Move, realm: Realm, files: readonly string[]): Promise<void> {
  move.section('Configuration');
  const roles = readRoles(realm.roles, () =>
    move.note('roles', 'A role has another form than expected. It is left out.'),
  );
  const named = readGroups(realm.groups, roles, (name, said) => move.note(`group ${name}`, said));
  const groups = named.filter(({ name, description }) => move.group(name, description));
  const ofRealm = new Set<string>();
  for (const role of roles.listed)
    if (role.client === undefined && !isBuiltIn(role) && !isAdministrator(realm.name)(role))
      if (move.group(groupOfRole(role.name), role.description)) ofRealm.add(role.name);
  const rolesOfClients = Map.groupBy(roles.listed, ({ client }) => client);
  const holders = groupsByRole(groups);
  for (const client of realm.clients) moveClient(move, client, realm.name, rolesOfClients, holders);
  const connections = new Map<string, string>();
  for (const provider of realm.identityProviders) {
    const moved = moveIdentityProvider(move, provider);
    if (moved) connections.set(moved.alias, moved.id);
  }
  noteRest(move, realm.components);
  move.section('Users');
  const byPath = new Map(groups.flatMap((group) => group.paths.map((path): [string, RealmGroup] => [path, group])));
  const context: Context = { realm: realm.name, roles, groups: byPath, ofRealm, connections };
  for (const file of files)
    for await (const { path, value } of readJson(file, ['$.users.*']))
      await moveUser(move, value, path.at(-1), context);
}

/** The names of the groups whose members have a role of a client. */
function groupsByRole(groups: readonly RealmGroup[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const group of groups)
    for (const role of rolesOfGroup(group)) {
      if (role.client === undefined) continue;
      const names = found.get(keyOf(role));
      if (names) names.push(group.name);
      else found.set(keyOf(role), [group.name]);
    }
  return found;
}

/** The most groups that a note names. */
const mostNamed = 20;

function moveClient(
  move: Move,
  given: unknown,
  realm: string,
  roles: ReadonlyMap<string | undefined, RealmRoles['listed']>,
  holders: ReadonlyMap<string, string[]>,
): void {
  const id = z.looseObject({ clientId: z.string() }).safeParse(given).data?.clientId;
  if (id === undefined) move.note('clients', 'A client has another form than expected. It is left out.');
  else if (!isInternal(id, realm)) {
    const own = roles.get(id) ?? [];
    for (const role of own) {
      const groups = holders.get(keyOf(role)) ?? [];
      const more = groups.length > mostNamed ? ` and ${groups.length - mostNamed} more` : '';
      if (groups.length > 0)
        move.note(
          `client ${id}`,
          `Groups have the role ${quoted(role.name)}: ${groups.slice(0, mostNamed).map(quoted).join(', ')}${more}. Their current members get it. Assign it to the groups, so that later members get it, too.`,
        );
    }
    moveKeycloakClient(move, id, given, own);
  }
}

/** What has no counterpart, once for the realm. */
function noteRest(move: Move, components: unknown): void {
  const stores = z.record(z.string(), z.unknown()).safeParse(components).data?.[
    'org.keycloak.storage.UserStorageProvider'
  ];
  for (const store of z.array(z.looseObject({ name: z.string() })).safeParse(stores).data ?? [])
    move.note(
      `federation ${store.name}`,
      'Users of a directory sign in with a connection of the kind ldap, which an administrator creates.',
    );
}

const credentialShape = z.looseObject({ type: z.string(), userLabel: z.string().optional() });
const codeShape = z.looseObject({
  subType: z.string(),
  digits: z.number(),
  period: z.number(),
  algorithm: z.string(),
  secretEncoding: z.string().optional(),
});
const userShape = z.looseObject({
  id: z.string().optional(),
  username: z.string(),
  email: z.string().nullish(),
  emailVerified: z.boolean().nullish(),
  enabled: z.boolean().nullish(),
  firstName: z.string().nullish(),
  lastName: z.string().nullish(),
  attributes: z.record(z.string(), z.unknown()).nullish(),
  groups: z.array(z.string()).optional(),
  ...holderShape,
  credentials: z.array(z.unknown()).optional(),
  federatedIdentities: z.array(z.looseObject({ identityProvider: z.string(), userId: z.string() })).optional(),
  federationLink: z.string().nullish(),
  serviceAccountClientId: z.string().nullish(),
  requiredActions: z.array(z.string()).optional(),
});
type KeycloakUser = z.infer<typeof userShape>;

async function moveUser(move: Move, given: unknown, place: unknown, context: Context): Promise<void> {
  const { data: user, error } = userShape.safeParse(given);
  if (!user) {
    move.note(
      `user ${String(place)}`,
      `The entry has another form than expected, at ${quoted(error.issues[0]!.path.join('.'))}. It is left out.`,
    );
    return;
  }
  // the account of a client has no counterpart: the client acts for itself
  if (typeof user.serviceAccountClientId === 'string') return;
  const { username } = user;
  const note = (said: string) => move.note(`user ${username}`, said);
  if (typeof user.federationLink === 'string') note('The user is of a directory. The password stays there.');
  if (user.requiredActions?.includes('UPDATE_PASSWORD'))
    note('The user had to choose a new password. That is not asked here.');
  const { groups, roles, isAdmin } = membershipsOf(user, context, note);
  const links = (user.federatedIdentities ?? []).flatMap(({ identityProvider, userId: subject }) => {
    // by the alias alone: the id of another connection can be the same text
    const connection = context.connections.get(identityProvider);
    if (connection === undefined)
      note(`The link to ${quoted(identityProvider)} is left out: this connection is not moved.`);
    return connection === undefined ? [] : [{ connection, subject }];
  });
  const found: FoundUser = {
    username,
    ...(user.id !== undefined && { sub: user.id }),
    ...(user.email && { email: user.email, email_verified: user.emailVerified === true }),
    ...(user.enabled === false && { status: 'disabled' }),
    ...claimsOf(user, note),
    ...credentialsOf(user, note),
    groups,
    links,
    roles,
    admin: isAdmin,
  };
  await move.user(found);
}

/** Standard claims, from names and attributes. */
function claimsOf({ firstName, lastName, attributes }: KeycloakUser, note: (said: string) => void): object {
  const name = [firstName, lastName].filter((part) => part?.trim()).join(' ');
  const known: Record<string, string> = {
    locale: 'locale',
    zoneinfo: 'zoneinfo',
    nickname: 'nickname',
    picture: 'picture',
    website: 'website',
    birthdate: 'birthdate',
    gender: 'gender',
    phoneNumber: 'phone_number',
    phone_number: 'phone_number',
  };
  const claims: Record<string, unknown> = {};
  const others: string[] = [];
  for (const [attribute, value] of Object.entries(attributes ?? {})) {
    const [first] = Array.isArray(value) ? (value as unknown[]) : [value];
    if (Object.hasOwn(known, attribute) && typeof first === 'string' && first !== '') claims[known[attribute]!] = first;
    else others.push(attribute);
  }
  if (others.length > 0)
    note(
      `The attributes ${others.slice(0, 20).map(quoted).join(', ')} are left out. Define them, and import their values.`,
    );
  return {
    ...(name && { name }),
    ...(firstName && { given_name: firstName }),
    ...(lastName && { family_name: lastName }),
    ...claims,
  };
}

function credentialsOf({ credentials = [] }: KeycloakUser, note: (said: string) => void): Partial<FoundUser> {
  const totp: NonNullable<FoundUser['totp']> = [];
  let password: unknown;
  for (const credential of credentials) {
    const { type, userLabel } = credentialShape.safeParse(credential).data ?? { type: '' };
    const data = credential as Record<string, unknown>;
    if (type === 'password' && data['secretData'] !== undefined) password ??= data;
    else if (type === 'password')
      note('The password is in clear, or of an old form. It is left out: the user needs a link for a new password.');
    else if (type === 'otp') totp.push(codesOf(data, userLabel));
    else if (type.startsWith('webauthn'))
      note('A passkey is left out: it serves its own host only. The user adds a new one.');
    else note(`A credential of the type ${quoted(type)} is left out.`);
  }
  return { ...(password !== undefined && { password_hash: password }), totp };
}

/** One of another kind has an empty secret, and is left out for that. */
function codesOf({ credentialData, secretData }: Record<string, unknown>, name: string | undefined) {
  const code = codeShape.safeParse(jsonOf(credentialData)).data;
  const { value } = z.looseObject({ value: z.string() }).safeParse(jsonOf(secretData)).data ?? { value: '' };
  const isTimed = code?.subType === 'totp';
  return {
    // without an encoding, the characters themselves are the secret
    secret: !isTimed ? '' : code.secretEncoding === 'BASE32' ? value : writtenCodeSecret(Buffer.from(value)),
    ...(code && { digits: code.digits, period: code.period, algorithm: code.algorithm.replace(/^Hmac/, '') }),
    ...(name !== undefined && { name }),
  };
}

function jsonOf(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : text;
  } catch {
    return undefined;
  }
}

/** Groups, roles at clients and power of a user, by the user's own roles and those of the groups. */
function membershipsOf(user: KeycloakUser, { realm, roles, groups, ofRealm }: Context, note: (said: string) => void) {
  const names: string[] = [];
  const held = roles.of(user);
  for (const path of user.groups ?? []) {
    const group = groups.get(path);
    if (!group) note(`The group ${quoted(path)} is left out: it is not moved.`);
    else {
      names.push(group.name);
      for (const role of rolesOfGroup(group)) held.push(role);
    }
  }
  const ofClients = new Map<string, Set<string>>();
  for (const { client, name } of held)
    if (client !== undefined && !isInternal(client, realm))
      ofClients.set(client, (ofClients.get(client) ?? new Set()).add(name));
  const isAdmin = held.some(isAdministrator(realm));
  if (!isAdmin && held.some(isOfAdministration(realm)))
    note('The user has some roles of an administrator there, and none here.');
  const realmRoles = held.filter(({ client, name }) => client === undefined && ofRealm.has(name));
  return {
    groups: [...new Set([...names, ...realmRoles.map(({ name }) => groupOfRole(name))])],
    roles: Object.fromEntries([...ofClients].map(([client, ofClient]) => [client, [...ofClient]])),
    isAdmin,
  };
}
