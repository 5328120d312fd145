// The key sets of clients: registered by value, or fetched from their jwks_uri and kept for a short while.
import type { JSONWebKeySet } from 'jose';
import type { ClientMetadata } from '../oauth/client-metadata.ts';
import { FetchRefused, type GuardedFetch } from '../outbound/guarded-fetch.ts';

export type ClientKeys = (metadata: ClientMetadata, fresh: boolean) => Promise<JSONWebKeySet>;

const maxAge = 60_000; // milliseconds: a rotated key is known a minute later at the latest
const minAge = 5_000; // and nobody can make us fetch more often than this
const maxEntries = 1_000;

/** @returns a reader that throws FetchRefused when the document cannot be had or is no key set */
export function createClientKeys(fetchDocument: GuardedFetch): ClientKeys {
  const cache = new Map<string, { at: number; keys: Promise<JSONWebKeySet> }>();
  return async (metadata, fresh) => {
    if (metadata.jwks) return metadata.jwks as JSONWebKeySet;
    if (!metadata.jwks_uri) throw new FetchRefused('the client has no keys');
    const uri = metadata.jwks_uri;
    const hit = cache.get(uri);
    if (hit && performance.now() - hit.at < (fresh ? minAge : maxAge)) return hit.keys;
    const entry = { at: performance.now(), keys: fetchDocument(uri).then(parse) };
    // a client that could not be reached is asked again soon
    entry.keys.catch(() => (entry.at -= maxAge - minAge));
    cache.delete(uri);
    if (cache.size >= maxEntries) cache.delete(cache.keys().next().value!);
    cache.set(uri, entry);
    return entry.keys;
  };
}

function parse(text: string): JSONWebKeySet {
  try {
    const document = JSON.parse(text) as JSONWebKeySet;
    if (Array.isArray(document.keys) && document.keys.length <= 100) return document;
  } catch (error) {
    throw new FetchRefused('the document is not JSON', { cause: error });
  }
  throw new FetchRefused('the document is not a JSON Web Key Set');
}
