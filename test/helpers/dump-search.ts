// Collects every secret that the tests of this worker received, and searches a whole database for each of them in every usual encoding
// (security R26).
import { Secret } from 'otpauth';
import type pg from 'pg';

/** Secrets recognised in any text: opaque tokens by their form, the others by the name before them. */
const tokens = /gh(?:(?:ac|dc|ra|ia|rc|pr|ml|sl)_[A-Za-z0-9_-]{49}|(?:at|ch|rt|se|kb)_[A-Za-z0-9_-]{57})/g;
const named =
  /"(client_secret|shared_secret|secret_key|verification_code|user_code)": ?"([^"]+)"|(GATEHOUSE_BROWSER(?:_[0-9a-f]{8})?|transaction)=([A-Za-z0-9_-]{43})|name="(csrf)"[^>]* value="([^"]+)"/g;
/** The key of an authenticator in its link, and recovery codes. */
const factors = /[?&;]secret=([A-Z2-7]{32})|\b((?:[A-HJ-NP-Z2-9]{4}-){3}[A-HJ-NP-Z2-9]{4})\b/g;
const kinds: Record<string, string> = {
  ghac_: 'authorization code',
  ghat_: 'access token',
  ghch_: 'client session handle',
  ghrt_: 'refresh token',
  ghdc_: 'device code',
  ghra_: 'registration access token',
  ghia_: 'initial access token',
  ghrc_: 'registration code',
  ghse_: 'session cookie',
  ghpr_: 'pushed authorization request',
  ghkb_: 'known browser',
  ghml_: 'mailed link',
  ghsl_: 'sign-up link',
};

const prefixLength = 8;
const seen = new Set<string>();
/** The secrets in their encodings, by their first characters, and the kind of each. */
const needles = new Map<string, { needle: string; kind: string }[]>();
/** A bit for each of their hashes: at most places a text begins like none of them, and the search skips the map. */
const beginnings = new Uint8Array(2 ** 21);

/** Forgets all secrets. Each one makes every later search longer. */
export function forgetAll(): void {
  seen.clear();
  needles.clear();
  beginnings.fill(0);
}

/** 24 bits of the text at `place`. */
function hashAt(text: string, place: number): number {
  let hash = 0;
  for (let end = place + prefixLength; place < end; place++) hash = Math.imul(hash, 31) + text.charCodeAt(place);
  return (hash ^ (hash >>> 24)) & 0xffffff;
}

/** Adds a secret to the search; chance would find one shorter than a verification code. */
export function remember(kind: string, secret: string | undefined): void {
  if (secret === undefined || secret.length < prefixLength || seen.has(secret)) return;
  seen.add(secret);
  for (const needle of encodings(secret)) {
    const prefix = needle.slice(0, prefixLength);
    const hash = hashAt(prefix, 0);
    beginnings[hash >> 3]! |= 1 << (hash & 7);
    const list = needles.get(prefix);
    if (list) list.push({ needle, kind });
    else needles.set(prefix, [{ needle, kind }]);
  }
}

/** Adds the secrets in a text: an answer's body, its cookies or its redirect, or the output of a command. */
export function observe(text: string): void {
  for (const [token] of text.matchAll(tokens)) remember(kinds[token.slice(0, 5)]!, token);
  for (const [, key, code] of text.matchAll(factors))
    remember(key === undefined ? 'recovery code' : 'key of an authenticator', key ?? code);
  for (const match of text.matchAll(named)) {
    const [name, value] = match.slice(1).filter((part) => part !== undefined);
    remember(name!, value);
  }
}

/** As text and as bytes, and the random part alone too: each as it is, in hexadecimal, in both base64 alphabets and percent-encoded. */
export function encodings(secret: string): Set<string> {
  const texts = [secret];
  // prefix, time and checksum of an opaque token, the hyphen of a verification code
  if (kinds[secret.slice(0, 5)]) texts.push(secret.slice(-49, -6));
  if (/^[A-Z]{4}-[A-Z]{4}$/.test(secret)) texts.push(secret.replace('-', ''));
  if (/^(?:[A-Z2-9]{4}-){3}[A-Z2-9]{4}$/.test(secret)) texts.push(secret.replaceAll('-', ''));
  const bytes = texts.map((text) => Buffer.from(text));
  for (const text of texts) if (/^[A-Za-z0-9_-]{43}$/.test(text)) bytes.push(Buffer.from(text, 'base64url'));
  if (/^[A-Z2-7]{32}$/.test(secret)) bytes.push(Buffer.from(Secret.fromBase32(secret).bytes));
  const found = new Set<string>();
  for (const each of bytes) {
    found.add(each.toString('latin1'));
    found.add(each.toString('hex'));
    found.add(each.toString('hex').toUpperCase());
    // within a longer text it may begin at any of three offsets; the characters shared with its neighbours are omitted
    for (const shift of [0, 1, 2]) {
      const shifted = Buffer.concat([Buffer.alloc(shift), each]).toString('base64');
      const own = shifted.slice(shift === 0 ? 0 : shift + 1, Math.floor(((each.length + shift) * 8) / 6));
      found.add(own);
      found.add(own.replaceAll('+', '-').replaceAll('/', '_'));
    }
  }
  for (const text of texts) found.add(encodeURIComponent(text));
  for (const each of found) if (each.length < prefixLength) found.delete(each);
  return found;
}

/** Where the database contains a secret, as "table.column: kind"; never the secret. */
export async function secretsIn(database: Pick<pg.Pool, 'query'>): Promise<string[]> {
  // the catalogue itself: the views of information_schema, and plans that read empty tables, take a second on a busy machine
  const { rows: tables } = await database.query<{ id: number; name: string }>(
    `SELECT c.oid AS id, format('%I.%I', n.nspname, c.relname) AS name
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND pg_relation_size(c.oid) > 0`,
  );
  const found = new Set<string>();
  const wholes = await textsOf(
    database,
    tables.map(({ name }) => ({ table: name, value: 't' })),
  );
  for (const [index, { id, name: table }] of tables.entries()) {
    if (search(wholes[index]!).length === 0) continue;
    const { rows: columns } = await database.query<{ name: string }>(
      `SELECT quote_ident(attname) AS name FROM pg_attribute WHERE attrelid = ${id} AND attnum > 0 AND NOT attisdropped`,
    );
    const texts = await textsOf(
      database,
      columns.map(({ name }) => ({ table, value: `t.${name}` })),
    );
    for (const [place, text] of texts.entries())
      for (const kind of search(text)) found.add(`${table}.${columns[place]!.name}: ${kind}`);
  }
  return [...found].sort();
}

/** The values of all rows of a table as one text, for each of these. */
async function textsOf(
  database: Pick<pg.Pool, 'query'>,
  wanted: { table: string; value: string }[],
): Promise<string[]> {
  const texts = wanted.map(({ table, value }) => `(SELECT string_agg((${value})::text, E'\\n') FROM ${table} t)`);
  const { rows } = await database.query<{ text: string | null }>(
    `SELECT unnest(ARRAY[${texts.join(', ')}]::text[]) AS text`,
  );
  return rows.map((row) => row.text ?? '');
}

/** The kinds of the secrets in a text, in bytes that the text holds in hexadecimal, and in texts within those bytes. */
export function search(text: string): string[] {
  const bytes = (from: string) =>
    [...from.matchAll(/[0-9a-f]{16,}/gi)].map(([hex]) => Buffer.from(hex, 'hex').toString('latin1')).join('\n');
  const inner = bytes(text);
  const haystack = `${text}\n${inner}`;
  const found = new Set<string>();
  for (let place = 0; place + prefixLength <= haystack.length; place++) {
    const hash = hashAt(haystack, place);
    if (!(beginnings[hash >> 3]! & (1 << (hash & 7)))) continue;
    for (const { needle, kind } of needles.get(haystack.slice(place, place + prefixLength)) ?? [])
      if (!found.has(kind) && haystack.startsWith(needle, place)) found.add(kind);
  }
  return [...found];
}

const watched = Symbol.for('gatehouse.dump-search');

/** From now on, collects secrets from every answer to fetch() in this process. */
export function watchFetch(): void {
  const global = globalThis as typeof globalThis & { [watched]?: true };
  if (global[watched]) return;
  global[watched] = true;
  const { fetch } = global;
  global.fetch = async (...request) => {
    const response = await fetch(...request);
    for (const cookie of response.headers.getSetCookie()) observe(cookie);
    observe(response.headers.get('location') ?? '');
    return response;
  };
  const answer = Response.prototype as unknown as { text(): Promise<string>; json(): Promise<unknown> };
  const { text, json } = answer;
  answer.text = async function () {
    const body = await text.call(this);
    observe(body);
    return body;
  };
  answer.json = async function () {
    const body = await json.call(this);
    observe(JSON.stringify(body));
    return body;
  };
}
