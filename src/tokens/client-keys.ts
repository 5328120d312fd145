// Reads the key sets of clients: registered by value, or fetched from their jwks_uri and cached briefly.
import type { JSONWebKeySet, JWK } from 'jose';
import type { ClientMetadata } from '../oauth/client-metadata.ts';
import { hasAcceptableSize, maxKeys } from '../oauth/json-web-key.ts';
import { FetchRefused, type GuardedFetch } from '../outbound/guarded-fetch.ts';

export type ClientKeys = (
  metadata: Pick<ClientMetadata, 'jwks' | 'jwks_uri'>,
  fresh: boolean,
) => Promise<JSONWebKeySet>;

const maxEntries = 1_000;

/**
 * @param age in milliseconds: a set is read again after `maxAge`, and `minAge` lies between two fetches, whatever requests arrive
 * @returns a reader that throws FetchRefused when the document cannot be fetched or is no key set. All returned keys have accepted sizes. A
 * set that is registered, or was not fetched again, is the same object.
 */
export function createClientKeys(
  fetchDocument: GuardedFetch,
  { maxAge, minAge }: { maxAge: number; minAge: number } = { maxAge: 60_000, minAge: 5_000 },
): ClientKeys {
  const cache = new Map<string, { readAt: number; triedAt: number; keys: Promise<JSONWebKeySet> }>();
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
    if (hit && (fresh ? now - hit.triedAt < minAge : now - hit.readAt < maxAge)) return hit.keys;
    const entry = { readAt: now, triedAt: now, keys: fetchDocument(uri).then(parse) };
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

function parse(text: string): JSONWebKeySet {
  let document: { keys?: unknown } | null;
  try {
    document = JSON.parse(text) as { keys?: unknown } | null;
  } catch (error) {
    throw new FetchRefused('the document is not JSON', { cause: error });
  }
  if (!Array.isArray(document?.keys)) throw new FetchRefused('the document is not a JSON Web Key Set');
  return usableKeys(document.keys);
}

/** Returns the usable keys of a set, and refuses a set with too many (security R114). @throws FetchRefused */
function usableKeys(keys: readonly unknown[]): JSONWebKeySet {
  if (keys.length > maxKeys) throw new FetchRefused(`the key set has more than ${maxKeys} keys`);
  return { keys: keys.filter((key) => isObject(key) && hasAcceptableSize(key)) as JWK[] };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
