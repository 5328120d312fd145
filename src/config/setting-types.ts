// Defines the types of settings: numbers, lists, addresses, secrets. An error message completes the sentence "The setting NAME …".
import { isIP, isIPv4 } from 'node:net';
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { postgresProblem } from './postgres-url.ts';

export const wholeNumber = (min: number, max: number, what = 'a whole number') => {
  const error = `must be ${what} from ${min} to ${max}`;
  return z.coerce.number({ error }).int(error).min(min, error).max(max, error);
};

export const count = (fallback: number, max = 1_000_000_000, min = 0) => wholeNumber(min, max).default(fallback);

export const seconds = (fallback: number, max = 366 * 86_400, min = 1) =>
  wholeNumber(min, max, 'a whole number of seconds').default(fallback);

/** Seconds from `min` on, or 0, which switches the rule off. */
export const secondsOrNever = (fallback: number, max: number, min: number) =>
  seconds(fallback, max, 0).refine(
    (value) => value === 0 || value >= min,
    `must be 0, or a whole number of seconds from ${min} to ${max}`,
  );

/** As an English sentence has them. Only a refusal makes one: a list format loads tables, which takes 9 ms. */
const alternatives = (words: readonly string[]) => new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words);

export const choice = <const Word extends string>(...words: [Word, ...Word[]]) =>
  z.enum(words, { error: () => `must be ${alternatives(words)}` });

export const flag = (fallback: boolean) =>
  choice('true', 'false')
    .default(fallback ? 'true' : 'false')
    .transform((word) => word === 'true');

/** True for the first word. */
export const whether = (yes: string, no: string, fallback = no) =>
  choice(yes, no)
    .default(fallback)
    .transform((word) => word === yes);

export const onOrOff = (fallback: 'on' | 'off') => whether('on', 'off', fallback);

export const text = (max: number, min = 1) => {
  const error = min > 1 ? `must have ${min} to ${max} characters` : `must have at most ${max} characters`;
  return z
    .string()
    .min(min, error)
    .max(max, error)
    .refine((value) => !/\p{Cc}/u.test(value), 'must not contain a line break or another control character');
};

/** The name of a cookie (RFC 6265 4.1.1): no internal one, and none with the rules of a prefix. */
export const cookieName = z
  .string()
  .regex(/^(?!GATEHOUSE_|__)[A-Za-z0-9_-]{1,64}$/, 'must be a name of 1 to 64 letters, digits, _ and -');

/** A password, whose length is that of its normalized form (security R59). */
export const passwordText = (max: number, min: number) => z.string().normalize('NFKC').pipe(text(max, min));

/** The trimmed parts of a comma-separated list. */
const items = (list: string) =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

export const nameList = z.string().default('').transform(items);
const lowerCaseList = z
  .string()
  .default('')
  .transform((list) => items(list.toLowerCase()));

export const cidrList = nameList.refine(
  (list) => list.every(isCidr),
  'must be a comma-separated list of IP addresses or CIDR ranges',
);

export const hostPortList = lowerCaseList.refine(
  (list) => list.every((item) => /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+):\d{1,5}$/.test(item)),
  'must be a comma-separated list of host:port',
);

/** Hosts as a URL has them: with a port unless it is the usual one. */
export const hostList = lowerCaseList.refine(
  (list) => list.every((item) => /^[a-z0-9.-]+(:\d{1,5})?$/.test(item)),
  'must be a comma-separated list of hosts, such as app.example.com',
);

/** As A-labels, the form in which addresses are stored (security R158). */
export const domainList = lowerCaseList
  .refine(
    (list) => list.every((item) => /^[^\s@,]+\.[^\s@,]+$/.test(item) && domainToASCII(item) !== ''),
    'must be a comma-separated list of domains, such as example.com',
  )
  .transform((list) => list.map((item) => domainToASCII(item)));

/** The claims that rules/users/own-profile.ts can read, in the order of its form. */
const editableClaims = [
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'gender',
  'birthdate',
  'phone_number',
  'website',
  'profile',
  'picture',
  'address',
  'locale',
  'zoneinfo',
] as const;
const defaultClaims = editableClaims.filter((claim) => claim !== 'profile' && claim !== 'picture');

/** Claims that users may change themselves, in the order of the form, or none. */
export const claimList = z
  .string()
  .default(defaultClaims.join(','))
  .transform((list) => (list.trim() === 'none' ? [] : items(list)))
  .pipe(
    z.array(
      z.enum(editableClaims, { error: `must be none, or a comma-separated list of: ${editableClaims.join(', ')}` }),
    ),
  )
  .transform((claims) => editableClaims.filter((claim) => claims.includes(claim)));

export const baseUrlProblem =
  'must be an https URL (http only on a loopback host) in normalized form, without a query, a fragment or a trailing slash';
/** Also http at other hosts, which needs ALLOW_HTTP. */
export const baseUrl = z.string().superRefine((address, context) => {
  if (isBaseUrl(address)) return;
  const bare = address.replace(/\/+$/, '');
  const isSlash = bare !== address && isBaseUrl(bare);
  const message = isSlash ? `must not end with a slash: set it to ${bare}` : baseUrlProblem;
  context.addIssue({ code: 'custom', message });
});

export const postgresUrl = z.string().superRefine((url, context) => {
  const message = postgresProblem(url);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

const breachError =
  'must be off, list, or the URL of a range service with a trailing slash, such as https://api.pwnedpasswords.com/range/';
export const breachCheck = z.union(
  [
    z.enum(['off', 'list']),
    z.string().refine((url) => URL.canParse(url) && /^https?:\/\/[^?#\p{C}]+\/$/u.test(url), breachError),
  ],
  { error: breachError },
);

export const smtpUrl = z.string().refine((url) => {
  if (!URL.canParse(url) || /\p{Cc}/u.test(url)) return false;
  const { protocol, username, password, hostname, pathname, search, hash } = new URL(url);
  if (![username, password].every(isDecodable)) return false;
  return /^smtps?:$/.test(protocol) && hostname !== '' && /^\/?$/.test(pathname) && search === '' && hash === '';
}, 'must be smtp://USER:PASSWORD@HOST:PORT, or smtps:// for TLS from the start, with the characters / ? # @ : and % of the user name and the password percent-encoded');

function isDecodable(part: string): boolean {
  try {
    return decodeURIComponent(part) !== undefined;
  } catch {
    return false;
  }
}

/** "name@host" or "Name <name@host>", on one line and for one address. */
export const sender = z
  .string()
  .refine(
    (address) =>
      address.length <= 320 &&
      /^(?:[^\p{Cc}<>@,;"]* <)?[^\s\p{Cc}<>@,;"]+@[^\s\p{Cc}<>@,;"]+>?$/u.test(address) &&
      / </.test(address) === address.endsWith('>'),
    'must be an email address, such as: Example Accounts <accounts@example.com>',
  );

export const keyWords = '32 random bytes in base64url, as printed by: openssl rand -base64 32 | tr +/ -_';
const bytesOf = (key: string) => Buffer.from(key, 'base64url');
const readKey = (key: string) => (/^[A-Za-z0-9_-]{43}=?$/.test(key) ? bytesOf(key).toString('base64url') : '');

/** The keys of SECRET_KEY: the first encrypts, all decrypt. The file secret-key in DATA_DIR holds the same list. */
export const secretKeys = z
  .string()
  .transform((text) => text.split(',').map((key) => readKey(key.trim())))
  .refine((keys) => keys.every(Boolean), `must be ${keyWords} (or several, separated by commas)`)
  .refine((keys) => keys.length <= 8, 'must have at most 8 keys')
  .refine((keys) => new Set(keys).size === keys.length, 'must not repeat a key')
  .refine((keys) => !keys.some((key) => isGuessable(bytesOf(key))), `is a sample or guessable: create ${keyWords}`);

/** The password in a URL; empty if there is none, or if it cannot be read. */
export function passwordOf(url: string | undefined): string {
  try {
    return decodeURIComponent(new URL(url ?? '').password);
  } catch {
    return '';
  }
}

/** Few different bytes, an arithmetic sequence, or typed text (security R111); fewer than one random key in 10^13 is any of these. */
function isGuessable(bytes: Buffer): boolean {
  const steps = new Set(bytes.subarray(1).map((byte, index) => byte - bytes[index]!));
  return new Set(bytes).size <= 8 || steps.size <= 2 || bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
}

function isBaseUrl(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  return (
    /^https?:$/.test(url.protocol) &&
    // as browsers write it: without user, query, fragment, default port or capital letters
    address === url.origin + url.pathname.replace(/\/$/, '') &&
    !url.hostname.endsWith('.') &&
    // routes and cookies use the path: no empty, encoded or hidden segment, such as that of the discovery document
    /^(\/|(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+)$/.test(url.pathname)
  );
}

function isCidr(range: string): boolean {
  const [address, bits, ...rest] = range.split('/');
  if (rest.length > 0 || !address || !isIP(address)) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128));
}
