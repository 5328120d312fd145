// Reads the configuration and the users file of Authelia, and its exports of TOTP secrets and of ids.
import { z } from 'zod';
import { multiFactor } from '../../oauth/acr.ts';
import { isRegistrableScope } from '../../oauth/scope.ts';
import { UsageError } from '../command.ts';
import type { FoundUser, Move } from './move.ts';
import type { Source } from './product.ts';
import { quoted } from './report.ts';
import { readYaml } from './yaml-file.ts';

const texts = z.union([z.array(z.string()), z.string().transform((one) => [one])]).nullish();
const flag = z.boolean().nullish();
const text = z.string().nullish();
/** The names of version 4.38 and later; earlier ones are `id`, `description` and `secret`. */
const clientShape = z.looseObject({
  client_id: text,
  id: text,
  client_name: text,
  description: text,
  client_secret: text,
  secret: text,
  public: flag,
  redirect_uris: texts,
  scopes: texts,
  grant_types: texts,
  response_types: texts,
  authorization_policy: text,
  consent_mode: text,
  require_pkce: flag,
  require_pushed_authorization_requests: flag,
  token_endpoint_auth_method: text,
  id_token_signed_response_alg: text,
  jwks_uri: text,
});
const configurationShape = z.looseObject({
  identity_providers: z
    .looseObject({ oidc: z.looseObject({ clients: z.array(z.unknown()).nullish() }).nullish() })
    .nullish(),
  access_control: z.looseObject({ rules: z.array(z.unknown()).nullish() }).nullish(),
  authentication_backend: z.looseObject({ ldap: z.unknown().optional() }).nullish(),
  session: z.unknown().optional(),
});
const userShape = z.looseObject({
  password: z.string(),
  displayname: text,
  email: texts,
  groups: texts,
  disabled: flag,
  address: z.record(z.string(), z.unknown()).nullish(),
  extra: z.record(z.string(), z.unknown()).nullish(),
});
const claims = [
  'given_name',
  'middle_name',
  'family_name',
  'nickname',
  'gender',
  'birthdate',
  'website',
  'profile',
  'picture',
  'zoneinfo',
  'locale',
  'phone_number',
];
const addressMembers = ['street_address', 'locality', 'region', 'postal_code', 'country'];

const codes = z.looseObject({
  totp_configurations: z.array(
    z.looseObject({
      username: z.string(),
      secret: z.string(),
      algorithm: text,
      digits: z.number().nullish(),
      period: z.number().nullish(),
    }),
  ),
});
const identifiers = z.looseObject({
  identifiers: z.array(
    z.looseObject({
      service: z.string(),
      sector_id: z.string().nullish(),
      username: z.string(),
      identifier: z.string(),
    }),
  ),
});

interface Read {
  configuration: z.infer<typeof configurationShape>;
  users: Map<string, unknown>;
  codes: Map<string, NonNullable<FoundUser['totp']>>;
  ids: Map<string, string>;
}

export async function open(
  [configurationFile = '', usersFile = '']: readonly string[],
  options: Readonly<Record<string, string | undefined>>,
): Promise<Source> {
  const configuration = configurationShape.safeParse(await readYaml(configurationFile)).data;
  if (
    !configuration ||
    (!configuration.identity_providers && !configuration.authentication_backend && !configuration.access_control)
  )
    throw new UsageError(`The file ${configurationFile} is not the configuration of Authelia.`);
  const users = z.looseObject({ users: z.record(z.string(), z.unknown()) }).safeParse(await readYaml(usersFile)).data;
  if (!users) throw new UsageError(`The file ${usersFile} is not a users file of Authelia.`);
  const read: Read = {
    configuration,
    users: new Map(Object.entries(users.users)),
    codes: await readCodes(options['totp']),
    ids: await readIds(options['identifiers']),
  };
  return { name: 'authelia', moveTo: (move) => moveAll(move, read) };
}

/** The secret of an export is the base64 of the text in base32. */
async function readCodes(file: string | undefined): Promise<Read['codes']> {
  if (file === undefined) return new Map();
  const { data } = codes.safeParse(await readYaml(file));
  if (!data) throw new UsageError(`The file ${file} is not an export of authelia storage user totp export.`);
  return new Map(
    data.totp_configurations.map(({ username, secret, algorithm, digits, period }) => [
      username,
      [
        {
          secret: Buffer.from(secret, 'base64').toString(),
          algorithm: algorithm ?? undefined,
          digits: digits ?? undefined,
          period: period ?? undefined,
        },
      ],
    ]),
  );
}

async function readIds(file: string | undefined): Promise<Read['ids']> {
  if (file === undefined) return new Map();
  const { data } = identifiers.safeParse(await readYaml(file));
  if (!data) throw new UsageError(`The file ${file} is not an export of authelia storage user identifiers export.`);
  const own = data.identifiers.filter(({ service, sector_id: sector }) => service === 'openid' && !sector);
  return new Map(own.map(({ username, identifier }) => [username, identifier]));
}

async function moveAll(move: Move, { configuration, users, codes: secrets, ids }: Read): Promise<void> {
  move.section('Configuration');
  for (const client of configuration.identity_providers?.oidc?.clients ?? []) moveClient(move, client);
  if (configuration.access_control?.rules?.length)
    move.note(
      'access_control',
      'Rules for hosts and paths stay with the proxy. Of clients, the access groups of a client do the same.',
    );
  if (configuration.authentication_backend?.ldap)
    move.note(
      'authentication_backend',
      'Users of a directory sign in with a connection of the kind ldap, which an administrator creates.',
    );
  const groups = new Set([...users.values()].flatMap((user) => userShape.safeParse(user).data?.groups ?? []));
  const taken = new Set([...groups].filter((name) => move.group(name)));
  move.section('Users');
  for (const [username, given] of users) {
    const user = userShape.safeParse(given).data;
    if (!user) {
      move.note(`user ${username}`, 'The entry has another form than expected. It is left out.');
      continue;
    }
    const { displayname, disabled, address, extra } = user;
    const [email] = user.email ?? [];
    if (extra && Object.keys(extra).length > 0)
      move.note(
        `user ${username}`,
        `The attributes ${Object.keys(extra).slice(0, 20).map(quoted).join(', ')} are left out. Define them, and import their values.`,
      );
    await move.user({
      username,
      ...(ids.has(username) && { sub: ids.get(username)! }),
      // an administrator wrote the file: its addresses are the word of that file
      ...(email && { email, email_verified: true }),
      ...(disabled && { status: 'disabled' }),
      ...(displayname && { name: displayname }),
      ...textsOf(user, claims),
      ...(address && { address: textsOf(address, addressMembers) }),
      password_hash: user.password,
      groups: (user.groups ?? []).filter((name) => taken.has(name)),
      totp: secrets.get(username) ?? [],
    } as FoundUser);
  }
}

const textsOf = (of: object, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(of).flatMap(([name, value]): [string, string][] =>
      names.includes(name) && typeof value === 'string' && value !== '' ? [[name, value]] : [],
    ),
  );

const usualScopes = ['openid', 'groups', 'profile', 'email'];

function moveClient(move: Move, given: unknown): void {
  const client = clientShape.safeParse(given).data;
  const id = client?.client_id ?? client?.id;
  if (!client || !id) {
    move.note('clients', 'A client has another form than expected. It is left out.');
    return;
  }
  const note = (said: string) => move.note(`client ${id}`, said);
  const policy = client.authorization_policy ?? 'two_factor';
  if (!['one_factor', 'two_factor'].includes(policy))
    note(`The policy ${quoted(policy)} has no counterpart: say by access groups who may use the client.`);
  const scopes = client.scopes ?? usualScopes;
  const others = scopes.filter((scope) => !isRegistrableScope(scope));
  if (others.length > 0) note(`The scopes ${others.map(quoted).join(', ')} are left out.`);
  const grants = (client.grant_types ?? ['authorization_code']).filter((grant) => grant !== 'implicit');
  const hasCode = grants.includes('authorization_code');
  const method = client.public ? 'none' : (client.token_endpoint_auth_method ?? 'client_secret_basic');
  const plain = /^\$plaintext\$(.+)$/.exec(client.client_secret ?? client.secret ?? '')?.[1];
  if (!client.public && plain === undefined) note('Authelia has the secret as a hash.');
  move.client(id, {
    members: {
      ...((client.client_name ?? client.description) && { client_name: client.client_name ?? client.description }),
      ...(policy === 'two_factor' && { required_acr: multiFactor }),
      ...(client.consent_mode === 'implicit' && { first_party: true }),
      token_endpoint_auth_method: method,
      grant_types: [
        ...grants,
        ...(scopes.includes('offline_access') && !grants.includes('refresh_token') ? ['refresh_token'] : []),
      ],
      redirect_uris: client.redirect_uris ?? [],
      response_types: hasCode ? ['code'] : [],
      scope: scopes.filter(isRegistrableScope).join(' '),
      ...(client.require_pkce && { require_pkce: true }),
      ...(client.require_pushed_authorization_requests && { require_pushed_authorization_requests: true }),
      ...(client.jwks_uri && { jwks_uri: client.jwks_uri }),
      ...(client.id_token_signed_response_alg && { id_token_signed_response_alg: client.id_token_signed_response_alg }),
    },
    ...(plain !== undefined && { secret: { value: plain, keep: () => move.secret(`client-${id}`, plain) } }),
  });
}
