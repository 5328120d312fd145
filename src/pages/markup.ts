// Makes untrusted text and addresses safe to show: text cannot be markup or pass for the service's own, links have safe schemes (security R6, R93).

/** Markup that is safe to print: the only values that are not escaped (security R6, R93). */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escape(value: unknown): string {
  if (value instanceof Html) return value.text;
  if (value === undefined || value === null) return '';
  return String(value).replace(/[&<>"']/g, (character) => entities[character]!);
}

// Direction overrides, invisible characters and line breaks can make a name look like another one, or like our own words.
const invisible =
  /[\p{Cc}\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;

/** Words of ASCII with one space between them, as most names are. */
const isPlain = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;

/** Untrusted text on one line, without invisible characters. */
export function clean(value: string): string {
  if (isPlain.test(value)) return value;
  return value.replace(/\s+/g, ' ').replace(invisible, '').trim();
}

/** Like `clean`, for text with lines, such as formatted JSON: line breaks and spaces stay. */
export function cleanLines(value: string): string {
  return value
    .split(/\r?\n/)
    .map((line) =>
      line
        .replace(/[^\S ]+/g, ' ')
        .replace(invisible, '')
        .trimEnd(),
    )
    .join('\n');
}

/** Like `clean`, for names: short enough that the text after it stays visible. */
export function cleanName(value: string): string {
  const text = clean(value);
  if (!/[\p{L}\p{N}\p{S}\p{P}]/u.test(text)) return '';
  const characters = [...text];
  return characters.length > 120 ? `${characters.slice(0, 119).join('')}…` : text;
}

/**
 * Matches an address with a scheme, one of a file server, one of mail, or a host name, each with every character that a mail program takes for a
 * part of it. A dot may be an East Asian one, or a character that looks like a dot.
 */
const addresses =
  /(?:[a-z][a-z0-9+.-]*:[/\\]|\\\\|(?:mailto|tel|sms|data|javascript):)\S*|[^\s@\uFF20]+[@\uFF20]\S+|(?:(?:[\p{L}\p{M}\p{N}_-]+[.\u2024\u3002\uFE52\uFF0E\uFF61])+\p{L}[\p{L}\p{M}\p{N}-]+|\d{1,3}(?:\.\d{1,3}){3})(?:[:/?#]\S*)?/giu;
const maxInMail = 60; // characters
/** The pattern above takes time by the square of the length, and what follows is not shown (security R166). */
const maxSearched = 500; // characters

/**
 * An untrusted name in a mail: short, and without addresses, since mail programs turn these into links that seem to be ours
 * (security R124). Empty when nothing is left.
 */
export function nameInMail(value: string): string {
  const cleaned = clean(value).slice(0, maxSearched);
  // some scripts need these joiners between letters; in an address they could only hide it
  const joined = cleaned.replace(/[\u200c\u200d]/gu, '');
  const text = clean((joined.search(addresses) < 0 ? cleaned : joined).replace(addresses, '…'));
  const characters = [...text];
  const short = characters.length > maxInMail ? `${characters.slice(0, maxInMail - 1).join('')}…` : text;
  return /[\p{L}\p{N}]/u.test(short) ? short : '';
}

/**
 * The same for a user name, by which the user recognises the account. A known address of the user stays. One word with dots, a common form,
 * stays except in a mail that the user can have sent to others (security R124).
 */
export function usernameInMail(value: string, own: readonly (string | undefined)[], toOthers: boolean): string {
  const name = cleanName(value);
  if (own.some((address) => address?.toLowerCase() === name.toLowerCase())) return name;
  if (!/^[\p{L}\p{M}\p{N}._'’-]{1,60}$/u.test(name)) return nameInMail(name) || '…';
  return toOthers ? nameInMail(name.replaceAll('.', ' ')) || '…' : name;
}

/**
 * Returns an address for a link or an image: only https, or http on the user's own machine, and never with a user name (security R93);
 * undefined for any other.
 */
export function linkTarget(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  if (url.username !== '' || url.password !== '') return undefined;
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback) ? url.href : undefined;
}

/** The action of a form_post. Registration validated it; any other scheme is an error of the service, and no page is shown. */
export function postTarget(uri: string): string {
  if (!/^https?:\/\//i.test(uri) || !URL.canParse(uri))
    throw new Error('a response can only be posted to http or https');
  return uri;
}

/** A validated redirect target as a link. Native applications have their own schemes, but never one of these. */
export function redirectTarget(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  return /^(javascript|data|vbscript|blob|file|about|view-source):$/.test(new URL(uri).protocol) ? undefined : uri;
}
