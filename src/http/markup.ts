// What may stand in a page: text that cannot pose as markup or as our own words, and addresses that lead nowhere harmful (security R6, R93).

/** Markup that is safe to print as it is: the only thing that escaping lets through (security R6, R93). */
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

// Direction overrides, invisible characters and line breaks let a name look like another one, or like our own words.
const invisible =
  /[\p{Cc}\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;

/** Text of unknown origin on one line and without characters that cannot be seen. */
export function clean(value: string): string {
  return value.replace(/\s+/g, ' ').replace(invisible, '').trim();
}

/** Like `clean`, for names: short enough that what follows stays in sight. */
export function cleanName(value: string): string {
  const text = clean(value);
  if (!/[\p{L}\p{N}\p{S}\p{P}]/u.test(text)) return '';
  const characters = [...text];
  return characters.length > 120 ? `${characters.slice(0, 119).join('')}…` : text;
}

/**
 * The address to link to or to load an image from, or undefined for one that a page must not lead to: only https, or
 * http on the person's own machine, and never with a user name in it (security R93).
 */
export function linkTarget(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  if (url.username !== '' || url.password !== '') return undefined;
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback) ? url.href : undefined;
}

/** A form_post's action. Registration validated it; were it not a web address, showing a page would be the worse answer. */
export function postTarget(uri: string): string {
  if (!/^https?:\/\//i.test(uri) || !URL.canParse(uri))
    throw new Error('a response can only be posted to http or https');
  return uri;
}

/** A validated redirect target as a link. Native applications have schemes of their own, but none of these is theirs. */
export function redirectTarget(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  return /^(javascript|data|vbscript|blob|file|about|view-source):$/.test(new URL(uri).protocol) ? undefined : uri;
}
