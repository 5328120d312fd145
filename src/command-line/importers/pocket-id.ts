// Reads the export of Pocket ID, unpacked: a folder with `database.json`.
import { join } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../command.ts';
import { readJson } from './json-stream.ts';
import type { Move } from './move.ts';
import type { Source } from './product.ts';
import { quoted } from './report.ts';

const text = z.string().nullish();
/** SQLite stores a flag as a number. */
const flag = z.union([z.boolean(), z.number().transform((one) => one !== 0)]).nullish();
const groupShape = z.looseObject({ id: z.string(), name: z.string(), friendly_name: text });
const memberShape = z.looseObject({ user_id: z.string(), user_group_id: z.string() });
const allowedShape = z.looseObject({ oidc_client_id: z.string(), user_group_id: z.string() });
const clientShape = z.looseObject({
  id: z.string(),
  name: text,
  callback_urls: z.unknown().optional(),
  logout_callback_urls: z.unknown().optional(),
  is_public: flag,
  pkce_enabled: flag,
  launch_url: text,
});
const userShape = z.looseObject({
  id: z.string(),
  username: z.string(),
  email: text,
  email_verified: flag,
  first_name: text,
  last_name: text,
  display_name: text,
  locale: text,
  is_admin: flag,
  disabled: flag,
  ldap_id: text,
});

const tables = ['user_groups', 'user_groups_users', 'oidc_clients', 'oidc_clients_allowed_user_groups'] as const;

export async function open([folder = '']: readonly string[]): Promise<Source> {
  const file = join(folder, 'database.json');
  const rows: Record<(typeof tables)[number], unknown[]> = {
    user_groups: [],
    user_groups_users: [],
    oidc_clients: [],
    oidc_clients_allowed_user_groups: [],
  };
  let isExport = false;
  for await (const { path, value } of readJson(file, ['$.tables.*.*'])) {
    const [, table] = path;
    isExport ||= table === 'users';
    const known = tables.find((name) => name === table);
    if (known) rows[known].push(value);
  }
  if (!isExport) throw new UsageError(`The file ${file} is not the database.json of an export of Pocket ID.`);
  return { name: 'pocket-id', moveTo: (move) => moveAll(move, rows, file) };
}

async function moveAll(move: Move, rows: Record<(typeof tables)[number], unknown[]>, file: string): Promise<void> {
  move.section('Configuration');
  move.note(
    'passkeys',
    'Users of Pocket ID have passkeys and no passwords. Passkeys work only for their own host: send each user a link.',
  );
  const groups = new Map<string, string>();
  for (const row of rows.user_groups) {
    const group = groupShape.safeParse(row).data;
    if (!group) move.note('groups', 'A group has another form than expected. It is left out.');
    else if (move.group(group.name, group.friendly_name ?? '')) groups.set(group.id, group.name);
  }
  const namesIn = <T>(shape: z.ZodType<T & { user_group_id: string }>, of: unknown[], idOf: (row: T) => string) => {
    const found = new Map<string, string[]>();
    for (const row of of) {
      const read = shape.safeParse(row).data;
      const name = read && groups.get(read.user_group_id);
      if (!read || name === undefined) continue;
      const names = found.get(idOf(read));
      if (names) names.push(name);
      else found.set(idOf(read), [name]);
    }
    return found;
  };
  const memberships = namesIn(memberShape, rows.user_groups_users, (row) => row.user_id);
  const allowed = namesIn(allowedShape, rows.oidc_clients_allowed_user_groups, (row) => row.oidc_client_id);
  for (const row of rows.oidc_clients) moveClient(move, row, allowed);
  move.section('Users');
  for await (const { value } of readJson(file, ['$.tables.users.*'])) await moveUser(move, value, memberships);
}

/** A list is a text of JSON, or, in newer exports, the base64 of one. */
function addressesIn(value: unknown): string[] {
  if (typeof value !== 'string') return z.array(z.string()).safeParse(value).data ?? [];
  const json = value.trim().startsWith('[') ? value : Buffer.from(value, 'base64').toString();
  try {
    return z.array(z.string()).safeParse(JSON.parse(json)).data ?? [];
  } catch {
    return [];
  }
}

function moveClient(move: Move, row: unknown, allowed: ReadonlyMap<string, string[]>): void {
  const client = clientShape.safeParse(row).data;
  if (!client) {
    move.note('clients', 'A client has another form than expected. It is left out.');
    return;
  }
  const access = allowed.get(client.id);
  const after = addressesIn(client.logout_callback_urls);
  move.client(client.id, {
    members: {
      ...(client.name && { client_name: client.name }),
      token_endpoint_auth_method: client.is_public ? 'none' : 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: addressesIn(client.callback_urls),
      ...(after.length > 0 && { post_logout_redirect_uris: after }),
      scope: 'openid profile email groups offline_access',
      ...(client.pkce_enabled && { require_pkce: true }),
      ...(access && { access: 'groups', access_groups: access }),
      ...(client.launch_url?.startsWith('https://') && { start_uri: client.launch_url }),
    },
  });
}

async function moveUser(move: Move, row: unknown, memberships: ReadonlyMap<string, string[]>): Promise<void> {
  const { data: user, error } = userShape.safeParse(row);
  if (!user) {
    move.note(
      'users',
      `A user has another form than expected, at ${quoted(error.issues[0]!.path.join('.'))}. It is left out.`,
    );
    return;
  }
  if (user.ldap_id)
    move.note(
      `user ${user.username}`,
      'The user belongs to a directory, and can sign in here with a connection of the kind ldap.',
    );
  await move.user({
    username: user.username,
    sub: user.id,
    ...(user.email && { email: user.email, email_verified: user.email_verified === true }),
    ...(user.disabled && { status: 'disabled' }),
    ...claimsOf(user),
    groups: memberships.get(user.id) ?? [],
    admin: user.is_admin === true,
  });
}

function claimsOf({ first_name, last_name, display_name, locale }: z.infer<typeof userShape>) {
  const name = display_name || [first_name, last_name].filter(Boolean).join(' ');
  return {
    ...(name && { name }),
    ...(first_name && { given_name: first_name }),
    ...(last_name && { family_name: last_name }),
    ...(locale && { locale }),
  };
}
