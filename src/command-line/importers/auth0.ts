// Reads the users that Auth0 exports as lines of JSON, and the file of password hashes that its support sends.
import { closeSync, openSync, readSync } from 'node:fs';
import { z } from 'zod';
import { UsageError } from '../command.ts';
import type { Entry } from './entries.ts';
import { jsonOf, maxLine, readJsonLines } from './json-lines.ts';
import type { FoundUser, Move } from './move.ts';
import type { Source } from './product.ts';
import { quoted } from './report.ts';
import { SeenKeys } from './seen-keys.ts';

const text = z.string().nullish();
const userShape = z.looseObject({
  user_id: z.string(),
  email: text,
  email_verified: z.boolean().nullish(),
  username: text,
  name: text,
  given_name: text,
  family_name: text,
  nickname: text,
  picture: text,
  phone_number: text,
  blocked: z.boolean().nullish(),
  identities: z
    .array(z.looseObject({ provider: z.string(), connection: z.string(), user_id: z.union([z.string(), z.number()]) }))
    .nullish(),
  user_metadata: z.record(z.string(), z.unknown()).nullish(),
  app_metadata: z.record(z.string(), z.unknown()).nullish(),
});
const passwordShape = z.looseObject({
  _id: z.looseObject({ $oid: z.string() }),
  passwordHash: z.string(),
});

/** The connections of Auth0 whose users have the same id here. */
const providers: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ['google-oauth2', { kind: 'oidc', preset: 'google' }],
  ['github', { kind: 'oauth', preset: 'github' }],
]);

export async function open(
  [file = '']: readonly string[],
  { passwords }: Readonly<Record<string, string | undefined>>,
): Promise<Source> {
  let isExport = false;
  for await (const { value } of readJsonLines(file)) {
    if (value === null) continue;
    isExport = userShape.safeParse(value).success;
    break;
  }
  if (!isExport) throw new UsageError(`The file ${file} is not an export of users of Auth0, as lines of JSON.`);
  const places = passwords === undefined ? undefined : await placesOf(passwords);
  return { name: 'auth0', moveTo: (move) => moveUsers(move, file, places && { file: passwords!, places }) };
}

/** Where the hash of each user is: the hashes themselves stay in the file. */
async function placesOf(file: string): Promise<SeenKeys> {
  const places = new SeenKeys();
  let known = 0;
  for await (const { place, value } of readJsonLines(file)) {
    const password = passwordShape.safeParse(value).data;
    if (!password) continue;
    known++;
    places.add(`auth0|${password._id.$oid}`, place);
  }
  if (known === 0)
    throw new UsageError(
      `The file ${file} has no password hashes of Auth0, as lines of JSON with _id and passwordHash.`,
    );
  return places;
}

function hashAt(file: number, place: number): unknown {
  const bytes = Buffer.alloc(Math.min(maxLine, 64 * 1024));
  const read = readSync(file, bytes, 0, bytes.length, place);
  const [row = ''] = bytes.toString('utf8', 0, read).split('\n', 1);
  return passwordShape.safeParse(jsonOf(row)).data?.passwordHash;
}

async function moveUsers(
  move: Move,
  file: string,
  passwords: { file: string; places: SeenKeys } | undefined,
): Promise<void> {
  move.section('Configuration');
  move.note('clients', 'The export has no applications: create them with their redirect URIs.');
  move.note('factors', 'The export has no authenticator apps and no passkeys: users add new ones.');
  if (!passwords)
    move.note(
      'passwords',
      'Without --passwords no user has a password here: the support of Auth0 sends the hashes on request.',
    );
  for (const [id, entry] of providers) {
    // a client id is needed, and the export has none
    if (move.connection(id, { ...entry, display_name: id, settings: { client_id: 'replace-me' } }))
      move.note(
        `connection ${id}`,
        'Replace the client id by that of your application there, and enter its secret. Then enable the connection, or delete it.',
      );
  }
  move.section('Users');
  const opened = passwords && openSync(passwords.file, 'r');
  try {
    for await (const { line, value } of readJsonLines(file)) {
      if (value === null) continue;
      const user = userShape.safeParse(value).data;
      if (!user) {
        move.note(`line ${line}`, 'The line is no user. It is left out.');
        continue;
      }
      const place = passwords?.places.get(user.user_id);
      await move.user(userOf(move, user, place === undefined ? undefined : hashAt(opened!, place)));
    }
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

function userOf(move: Move, user: z.infer<typeof userShape>, hash: unknown): FoundUser {
  // users of a database without names sign in with their address
  const username = user.username || user.email || user.user_id;
  const note = (said: string) => move.note(`user ${username}`, said);
  const others = [...Object.keys(user.user_metadata ?? {}), ...Object.keys(user.app_metadata ?? {})];
  if (others.length > 0) note(`The metadata ${others.slice(0, 20).map(quoted).join(', ')} are left out.`);
  const links = (user.identities ?? []).filter(({ provider }) => provider !== 'auth0');
  return {
    username,
    sub: user.user_id,
    ...(user.email && { email: user.email, email_verified: user.email_verified === true }),
    ...(user.blocked && { status: 'disabled' as const }),
    ...Object.fromEntries(
      (['name', 'given_name', 'family_name', 'nickname', 'picture', 'phone_number'] as const).flatMap((claim) =>
        user[claim] ? [[claim, user[claim]]] : [],
      ),
    ),
    ...(hash !== undefined && { password_hash: hash }),
    // a connection of another provider can have any name, also that of one of these
    links: links.map(({ provider, connection, user_id: subject }) => ({
      connection: providers.has(provider)
        ? provider
        : providers.has(connection)
          ? `${provider}/${connection}`
          : connection,
      subject: String(subject),
    })),
  };
}
