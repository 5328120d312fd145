// Reads the key sets of clients: registered by value, or fetched from their jwks_uri and cached briefly.
import type { JSONWebKeySet, JWK } from 'jose';
import type { ClientMetadata } from '../oauth/client-metadata.ts';
import { hasAcceptableSize, isKnownKey, type JsonWebKey, maxKeys } from '../oauth/json-web-key.ts';
import { FetchRefused, type GuardedFetch } from '../outbound/guarded-fetch.ts';

export type ProviderKeys = JSONWebKeySet;

export type ClientKeys = (
  metadata: Pick<ClientMetadata, 'jwks' | 'jwks_uri'>,
  fresh: boolean,
) => Promise<JSONWebKeySet>;

const maxEntries = 1_000;

interface KeyReading {
  maxAge: number;
  minAge: number;
  /** Reads a set that was fetched. */
  read: { keysOf(keys: readonly unknown[]): JSONWebKeySet; maxBytes?: number; looksAtOnce?: boolean };
}

/**
 * @param age in milliseconds: a set is read again after `maxAge`, and `minAge` lies between two fetches, whatever requests arrive
 * @returns a reader that throws FetchRefused when the document cannot be fetched or is no key set. All returned keys have accepted sizes. A
 * set that is registered, or was not fetched again, is the same object.
 */
export function createClientKeys(
  fetchDocument: GuardedFetch,
  { maxAge, minAge, read }: KeyReading = ofClients,
): ClientKeys {
  const cache = new Map<string, { readAt: number; askedAt: number; keys: Promise<JSONWebKeySet> }>();
  const registered = new WeakMap<object, JSONWebKeySet>();
  return async (metadata, fresh) => {
    const { jwks } = metadata;
    if (jwks) {
      // a stored set may be older than the rules
      const known = registered.get(jwks) ?? usableKeys(jwks.keys);
      registered.set(jwks, known);
      return known;
    }
    if (!metadata.jwks_uri) throw new FetchRefused('the client has no keys');
    const uri = metadata.jwks_uri;
    const now = performance.now();
    const hit = cache.get(uri);
    if (hit && (fresh ? now - hit.askedAt < minAge : now - hit.readAt < maxAge)) return hit.keys;
    // of a provider, the regular reading does not delay the first look for an unknown key
    const askedAt = fresh || !read.looksAtOnce ? now : (hit?.askedAt ?? -Infinity);
    const document = fetchDocument(uri, undefined, read.maxBytes === undefined ? {} : { maxBytes: read.maxBytes });
    const entry = { readAt: now, askedAt, keys: document.then((text) => parse(text, read.keysOf)) };
    entry.keys.catch(() => {
      // a token with an unknown key makes any sender ask: a set that is not old yet outlives a failure, else the next fetch is allowed soon
      if (hit && now - hit.readAt < maxAge) [entry.readAt, entry.keys] = [hit.readAt, hit.keys];
      else entry.readAt -= maxAge - minAge;
    });
    cache.delete(uri);
    if (cache.size >= maxEntries) cache.delete(cache.keys().next().value!);
    cache.set(uri, entry);
    return entry.keys;
  };
}

function parse(text: string, keysOf: KeyReading['read']['keysOf']): JSONWebKeySet {
  let document: { keys?: unknown } | null;
  try {
    document = JSON.parse(text) as { keys?: unknown } | null;
  } catch (error) {
    throw new FetchRefused('the document is not JSON', { cause: error });
  }
  if (!Array.isArray(document?.keys)) throw new FetchRefused('the document is not a JSON Web Key Set');
  return keysOf(document.keys);
}

/** Returns the usable keys of a set, and refuses a set with too many (security R114). @throws FetchRefused */
function usableKeys(keys: readonly unknown[]): JSONWebKeySet {
  if (keys.length > maxKeys) throw new FetchRefused(`the key set has more than ${maxKeys} keys`);
  return { keys: keys.filter((key) => isObject(key) && hasAcceptableSize(key)) as JWK[] };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const ofClients: KeyReading = { maxAge: 60_000, minAge: 5_000, read: { keysOf: usableKeys } };

/** The most keys of a provider that can sign for us. */
const maxProviderKeys = 100;

/** The keys of a provider: those that verify no signature do not count, and an unknown one is looked for each ten seconds (reports C6). */
export const ofProviders: KeyReading = {
  maxAge: 600_000,
  minAge: 10_000,
  read: {
    maxBytes: 512 * 1024,
    looksAtOnce: true,
    keysOf(keys) {
      const usable = keys.filter((key) => isObject(key) && hasAcceptableSize(key) && verifies(key)) as JWK[];
      if (usable.length > maxProviderKeys) throw new FetchRefused(`the key set has more than ${maxProviderKeys} keys`);
      return { keys: usable };
    },
  },
};

const verifies = (key: object): boolean => {
  const { kty, use } = key as Readonly<Record<string, unknown>>;
  return typeof kty === 'string' && isKnownKey(key as JsonWebKey) && (use === undefined || use === 'sig');
};
