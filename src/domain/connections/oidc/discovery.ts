// Reads the discovery document of a provider when a connection is saved, and then each hour. The last valid one is used for a day (federation 5).
import { OAuthError } from '../../../oauth/errors.ts';
import { refusal } from '../../../oauth/refusals.ts';
import { FetchRefused, type GuardedFetch } from '../../../outbound/guarded-fetch.ts';
import { isOutwardAddress } from '../../../outbound/outward-address.ts';
import type { Connection } from '../../../entities/connections.ts';
import type { Store } from '../../../repositories/store.ts';
import { ConnectionFailure } from '../kind.ts';
import type { OidcProfile } from './profile.ts';
import { discoveryShape, type OidcDiscovery } from './settings.ts';

const hour = 3_600_000; // milliseconds
const lastGood = 24 * hour;
/** Milliseconds between two requests while the provider does not answer. */
const pause = 60_000;

export interface DiscoveryOptions {
  store: Pick<Store, 'connections'>;
  fetchDocument: GuardedFetch;
  /** OUTBOUND_ALLOW */
  allowed: readonly string[];
}

export function createDiscovery({ store, fetchDocument, allowed }: DiscoveryOptions) {
  /** When the last request of each connection failed. */
  const failures = new Map<string, number>();
  /** The requests that run now, by connection and settings. */
  const reading = new Map<string, Promise<OidcDiscovery>>();

  /** @throws OAuthError invalid_request, which tells an administrator what is wrong */
  async function read({
    discovery: below,
    documentIssuer,
  }: Pick<OidcProfile, 'discovery' | 'documentIssuer'>): Promise<OidcDiscovery> {
    if (!isOutwardAddress(below, allowed) || new URL(below).search !== '') throw refused('connection.issuer-address');
    let document: unknown;
    try {
      document = JSON.parse(await fetchDocument(`${below.replace(/\/$/, '')}/.well-known/openid-configuration`));
    } catch (error) {
      if (!(error instanceof FetchRefused) && !(error instanceof SyntaxError)) throw error;
      throw refused('connection.discovery', error);
    }
    const parsed = discoveryShape.safeParse(document);
    if (!parsed.success) throw refused('connection.discovery-form', parsed.error);
    // octet by octet (OpenID Connect Discovery 4.3)
    if (parsed.data.issuer !== documentIssuer) throw refused('connection.other-issuer');
    const { data } = parsed;
    const addresses = [
      data.authorization_endpoint,
      data.token_endpoint,
      data.jwks_uri,
      data.userinfo_endpoint,
      data.end_session_endpoint,
      data.pushed_authorization_request_endpoint,
    ];
    if (!addresses.every((one) => one === undefined || isOutwardAddress(one, allowed)))
      throw refused('connection.inward-address');
    return data;
  }

  /** Reads and keeps the document. Other sign-ins that need it wait for the same answer, however slow it is (federation F14). */
  function readOnce({ id, settings }: Connection, profile: OidcProfile): Promise<OidcDiscovery> {
    const key = JSON.stringify([id, settings]);
    const keep = async () => {
      const fresh = await read(profile);
      failures.delete(id);
      await store.connections.setDiscovery(id, { ...fresh }, settings);
      return fresh;
    };
    const running = reading.get(key) ?? keep().finally(() => reading.delete(key));
    reading.set(key, running);
    return running;
  }

  return {
    read,
    /** Returns the provider's metadata, which is read at most once an hour. @throws ConnectionFailure */
    async current(connection: Connection, profile: OidcProfile, now: Date): Promise<OidcDiscovery> {
      const { id, discoveredAt } = connection;
      // a row that another version wrote may lack members that this version needs
      const stored = discoveryShape.safeParse(connection.discovery).data;
      const age = stored && discoveredAt ? now.getTime() - discoveredAt.getTime() : Infinity;
      if (stored && age < hour) return stored;
      const failedAt = failures.get(id);
      const waits = failedAt !== undefined && performance.now() - failedAt < pause;
      if (!waits) {
        try {
          return await readOnce(connection, profile);
        } catch (error) {
          if (!(error instanceof OAuthError)) throw error;
          failures.set(id, performance.now());
          if (age >= lastGood) throw new ConnectionFailure('unreachable', `discovery: ${error.message}`, error);
        }
      }
      if (stored && age < lastGood) return stored;
      throw new ConnectionFailure('unreachable', 'discovery failed a moment ago');
    },
  };
}

type Code = `connection.${'issuer-address' | 'discovery' | 'discovery-form' | 'other-issuer' | 'inward-address'}`;
const refused = (code: Code, cause?: unknown) =>
  new OAuthError('invalid_request', refusal(code, 'settings.issuer'), 400, { cause });
