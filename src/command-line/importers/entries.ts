// Makes entries of the configuration file: each by the rules of its noun. What a rule refuses is left out, and in the report (federation FR47).
import type { z } from 'zod';
import { oauthPresets } from '../../domain/connections/oauth/presets.ts';
import { oidcPresets } from '../../domain/connections/oidc/presets.ts';
import { clientSettings } from '../../entities/client-settings.ts';
import { connections } from '../../entities/connections.ts';
import { newShape } from '../../entities/entity.ts';
import { groups } from '../../entities/groups.ts';
import { maxRoles, roles as roleEntity } from '../../entities/roles.ts';
import { needsSecret, parseClientMetadata, registrableFields } from '../../oauth/client-metadata.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { consoleClientId } from '../../rules/clients/console-client.ts';
import { givenClientId, givenCredentials, isStrongSecret } from '../../rules/clients/given-credentials.ts';
import { quoted, type Report } from './report.ts';

export type Entry = Record<string, unknown>;

/** A secret that an export has in clear. */
export interface FoundSecret {
  value: string;
  /** Makes a reference to it, once it is known to be good. */
  keep(): { file: string };
}

export interface GivenRole {
  name: string;
  description?: string | undefined;
}

/** A client as an importer found it. */
export interface GivenClient {
  /** Registered metadata, by its standard names, and declared settings. */
  members: Entry;
  /** Undefined if it is unknown. */
  secret?: FoundSecret | undefined;
  roles?: GivenRole[];
}

/** A connection as an importer found it. */
export type GivenConnection = Entry & { secret?: FoundSecret };

export function groupEntry(report: Report, name: string, given?: string): Entry | undefined {
  const description = cut(given, 1000);
  if (newShape(groups).safeParse({ name, description }).success && isKey(name))
    return description === '' ? {} : { description };
  report.note(`group ${name}`, 'The name or the description does not fit. The group is left out.');
  return undefined;
}

export function clientEntry(
  report: Report,
  id: string,
  { members, secret, roles = [] }: GivenClient,
): Entry | undefined {
  const note = (said: string) => report.note(`client ${id}`, said);
  if (id === consoleClientId || !givenClientId.safeParse(id).success || !isKey(id)) {
    note(
      'This cannot be a client_id here: at most 255 visible ASCII characters, no https address, no mail address. The client is left out.',
    );
    return undefined;
  }
  const addresses = ['redirect_uris', 'post_logout_redirect_uris'].flatMap((member): [string, unknown][] =>
    Array.isArray(members[member]) ? [[member, goodAddresses(members[member] as string[], member, note)]] : [],
  );
  const entry = withoutRefused({ ...members, ...Object.fromEntries(addresses) }, note);
  if (!entry) return undefined;
  const metadata = parseClientMetadata(metadataOf(entry), { admin: true });
  const own = rolesOf(roles, note);
  const clientSecret = needsSecret(metadata) && { client_secret: secretOf(secret, note) };
  return {
    ...entry,
    ...clientSecret,
    ...(own.length > 0 && { roles: Object.fromEntries(own) }),
  };
}

/** An export may hide the secret, or have none, and a short one is not kept without the operator's word. */
function secretOf(secret: GivenClient['secret'], note: (said: string) => void): unknown {
  if (!secret) note('The export has no secret. The client gets a new one.');
  else if (!givenCredentials.client_secret.safeParse(secret.value).success)
    note('The secret has other characters than ASCII, or more than 512 of them. The client gets a new one.');
  else if (isStrongSecret(secret.value)) return secret.keep();
  else {
    const { file } = secret.keep();
    note(
      `The secret is too weak, so the client gets a new one. To keep it, write client_secret: {file: ${file}} and weak_secret: true.`,
    );
  }
  return 'generate';
}

const metadataOf = (entry: Entry): Entry =>
  Object.fromEntries(Object.entries(entry).filter(([member]) => registrableFields.includes(member)));

function goodAddresses(addresses: readonly string[], member: string, note: (said: string) => void): string[] {
  return [...new Set(addresses)].filter((address) => {
    const problem = address.includes('*')
      ? 'has a wildcard'
      : refusalOf({
          redirect_uris: member === 'redirect_uris' ? [address] : ['https://a.example/'],
          [member]: [address],
        });
    if (problem !== undefined)
      note(
        `The address ${quoted(address)} of ${member} ${typeof problem === 'string' ? problem : 'is refused'}. Register the exact addresses.`,
      );
    return problem === undefined;
  });
}

/** Why metadata is refused; undefined if it is good. */
function refusalOf(metadata: Entry): { member: string; description: string } | undefined {
  try {
    parseClientMetadata(metadata, { admin: true });
    return undefined;
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return { member: error.refusal?.member ?? '', description: error.description };
  }
}

const without = (entry: Entry, name: string): Entry =>
  Object.fromEntries(Object.entries(entry).filter(([member]) => member !== name));

/** Leaves out what is refused, member by member. @returns undefined if the rest is no client */
function withoutRefused(given: Entry, note: (said: string) => void): Entry | undefined {
  let entry = given;
  for (const [name, { rule }] of Object.entries(clientSettings))
    if (entry[name] !== undefined && !rule.safeParse(entry[name]).success) {
      note(`${name} does not fit. It is left out.`);
      entry = without(entry, name);
    }
  for (let refused = refusalOf(metadataOf(entry)); refused; refused = refusalOf(metadataOf(entry))) {
    const [member = ''] = refused.member.split('.');
    const sentence = refused.description.replace(/^./, (first) => first.toUpperCase());
    // without any of these it would be another client
    const isVital = ['redirect_uris', 'grant_types', 'token_endpoint_auth_method'].includes(member);
    if (isVital || !Object.hasOwn(entry, member)) {
      note(`${sentence}. The client is left out.`);
      return undefined;
    }
    note(`${sentence}. ${member} is left out.`);
    entry = without(entry, member);
  }
  return entry;
}

/** The roles of a client, in the order of their names. */
function rolesOf(given: readonly GivenRole[], note: (said: string) => void): [string, Entry][] {
  const own = [...new Map(given.flatMap((role) => roleEntry(role, note)))].sort(([a], [b]) => (a < b ? -1 : 1));
  if (own.length > maxRoles)
    note(`It has ${own.length} roles, and a client here has at most ${maxRoles}. The last ones are left out.`);
  return own.slice(0, maxRoles);
}

function roleEntry({ name, description: given }: GivenRole, note: (said: string) => void): [string, Entry][] {
  const description = cut(given, 1000);
  if (newShape(roleEntity).safeParse({ name, description }).success && isKey(name))
    return [[name, description === '' ? {} : { description }]];
  note(`The name or the description of the role ${quoted(name)} does not fit. The role is left out.`);
  return [];
}

/** A configuration file has no control characters, and no such name. */
const plainText = (text = ''): string => text.replace(/[\0-\x1f\x7f-\x9f\ufffe\uffff]+/g, ' ').trim();
/** The beginning of a text, without half a character. */
export const cut = (text: string | undefined, most: number): string =>
  plainText(text)
    .slice(0, most)
    .replace(/[\ud800-\udbff]$/, '')
    .trim();
const isKey = (name: string): boolean => name !== '__proto__' && plainText(name) === name;

/** No kind of connection is enabled by an import: its provider knows another redirect address. */
export function connectionEntry(report: Report, id: string, given: GivenConnection): Entry | undefined {
  const { secret, settings, ...members } = given;
  const name = plainText(String(members['display_name']));
  const entry: Entry = { ...members, display_name: name, status: 'disabled', settings };
  const problem = newShape(connections).safeParse({ id, ...entry }).error;
  const at = problem ? pathOf(problem) : settingsProblem(entry);
  if (at !== undefined) {
    report.note(`connection ${id}`, `${quoted(at)} does not fit. The connection is left out.`);
    return undefined;
  }
  const fits = secret && connections.members.secret.rule.safeParse(secret.value).success && !/\n$/.test(secret.value);
  if (secret && !fits) report.note(`connection ${id}`, 'The secret does not fit. Enter it.');
  return { ...entry, ...(fits && { secret: secret.keep() }) };
}

const pathOf = (problem: z.ZodError): string => problem.issues[0]!.path.join('.');

function settingsProblem({ kind, preset, settings }: Entry): string | undefined {
  const variants = { oidc: oidcPresets([]), oauth: oauthPresets([]) };
  // the shape of connections has checked both
  const { error } = variants[kind as keyof typeof variants](preset as string | undefined)!.shape.safeParse(settings);
  return error && `settings.${pathOf(error)}`;
}
