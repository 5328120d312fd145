// Sends the requests of a SCIM client to provisioning targets (RFC 7644 3), with a bearer token or with an access token of its own token endpoint.
import type { SecretBox } from '../../crypto/secret-box.ts';
import { type ExchangeAnswer, FetchRefused, type GuardedExchange } from '../../outbound/guarded-fetch.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { Target } from '../../repositories/provisioning/provisioning-targets.ts';
import {
  filterOf,
  type Found,
  foundIn,
  idInLocation,
  matchesIn,
  type PatchOperation,
  patchOf,
  retryAfterOf,
  type Values,
} from '../../rules/provisioning/account.ts';

/** The target itself answers no request well: all of them pause. The message has no address, which can have a secret in it. */
export class TargetFailure extends Error {
  readonly status: number | undefined;
  /** The seconds for which the target asked. */
  readonly pause: number | undefined;
  constructor(message: string, status?: number, pause?: number) {
    super(message);
    this.status = status;
    this.pause = pause;
  }
}

/** The target refuses this request: others go on. */
export class RequestRefused extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export type Collection = 'Users' | 'Groups';

export interface TargetClientOptions {
  secretBox: Pick<SecretBox, 'open'>;
  exchange: GuardedExchange;
  /** Ends the requests under way when the instance stops. */
  stopped: AbortSignal;
}

export type TargetConnection = ReturnType<ReturnType<typeof createTargetClients>>;

const timeout = 10_000; // milliseconds, for one request
const maxBytes = 1024 * 1024;
const scimType = 'application/scim+json';

export function createTargetClients({ secretBox, exchange, stopped }: TargetClientOptions) {
  /** Access tokens by target. */
  const tokens = new Map<string, { token: string; version: number; until: number }>();

  async function ask(...[url, sent]: Parameters<GuardedExchange>): Promise<ExchangeAnswer> {
    try {
      return await exchange(url, { ...sent, timeout, maxBytes, signal: stopped });
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error;
      const cause = error.cause as NodeJS.ErrnoException | undefined;
      throw new TargetFailure(
        `cannot be reached (${cause?.code ?? cause?.message ?? 'the answer is too long'})`.slice(0, 500),
      );
    }
  }

  async function tokenOf(target: Target): Promise<string> {
    const { id, version, bearerTokenEncrypted, tokenEndpoint, clientId, clientSecretEncrypted } = target;
    if (bearerTokenEncrypted)
      return secretBox
        .open(bearerTokenEncrypted, associatedDataOf('provisioning_targets.bearer_token_encrypted', id))
        .toString();
    const kept = tokens.get(id);
    if (kept && kept.version === version && kept.until > Date.now()) return kept.token;
    const secret = secretBox
      .open(clientSecretEncrypted!, associatedDataOf('provisioning_targets.client_secret_encrypted', id))
      .toString();
    const pair = [clientId!, secret].map((part) => new URLSearchParams({ part }).toString().slice(5)).join(':');
    const answer = await ask(tokenEndpoint!, {
      form: { grant_type: 'client_credentials' },
      headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
    });
    const { access_token: token, expires_in: lifetime } = objectIn(answer.body);
    if (answer.status !== 200 || typeof token !== 'string' || token === '')
      throw new TargetFailure(`the token endpoint answered ${answer.status}`, answer.status, pauseOf(answer));
    const seconds = typeof lifetime === 'number' && lifetime > 60 ? Math.min(lifetime, 3600) - 30 : 30;
    tokens.set(id, { token, version, until: Date.now() + seconds * 1000 });
    return token;
  }

  return (target: Target) => {
    const base = target.baseUrl.replace(/\/+$/, '');
    const uriOf = (collection: Collection, id?: string) =>
      `${base}/${collection}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;

    async function send(method: string, url: string, body?: Values): Promise<ExchangeAnswer> {
      const answer = await attempt(method, url, body);
      // an access token may end before its time
      if (answer.status !== 401 || !tokens.delete(target.id)) return checked(answer);
      return checked(await attempt(method, url, body));
    }
    const attempt = async (method: string, url: string, body?: Values): Promise<ExchangeAnswer> =>
      ask(url, {
        method,
        ...(body && { body: JSON.stringify(body) }),
        headers: {
          authorization: `Bearer ${await tokenOf(target)}`,
          accept: `${scimType}, application/json`,
          ...(body && { 'content-type': scimType }),
        },
      });

    return {
      /** The resources with exactly this value, and the status of the answer; none where the target cannot filter by it. */
      async find(
        collection: Collection,
        attribute: string,
        value: string,
      ): Promise<{ found: Found[]; status: number }> {
        const answer = await send('GET', `${uriOf(collection)}?${filterOf(attribute, value)}`);
        if (answer.status === 400 || answer.status === 404 || answer.status === 501)
          return { found: [], status: answer.status };
        if (answer.status !== 200) throw refused(answer);
        return { found: matchesIn(objectIn(answer.body), attribute, value), status: answer.status };
      },
      /** Undefined for a resource that is gone. */
      async read(collection: Collection, id: string): Promise<Found | undefined> {
        const answer = await send('GET', uriOf(collection, id));
        if (isGone(answer)) return undefined;
        const found = answer.status === 200 ? foundIn(objectIn(answer.body)) : undefined;
        if (!found) throw refused(answer);
        return found;
      },
      /** @returns the id, if the answer names it */
      async create(collection: Collection, resource: Values): Promise<{ id: string | undefined; status: number }> {
        const answer = await send('POST', uriOf(collection), resource);
        if (!isGood(answer)) throw refused(answer);
        const id = foundIn(objectIn(answer.body))?.id ?? idInLocation(answer.headers.location, uriOf(collection));
        return { id, status: answer.status };
      },
      /** Undefined for a resource that is gone. */
      async patch(
        collection: Collection,
        id: string,
        operations: readonly PatchOperation[],
      ): Promise<number | undefined> {
        const answer = await send('PATCH', uriOf(collection, id), patchOf(operations));
        if (isGone(answer)) return undefined;
        if (!isGood(answer)) throw refused(answer);
        return answer.status;
      },
      async remove(collection: Collection, id: string): Promise<number> {
        const answer = await send('DELETE', uriOf(collection, id));
        if (!isGood(answer) && !isGone(answer)) throw refused(answer);
        return answer.status;
      },
    };
  };
}

const isGood = ({ status }: ExchangeAnswer) => status >= 200 && status < 300;
const isGone = ({ status }: ExchangeAnswer) => status === 404 || status === 410;
const pauseOf = ({ headers }: ExchangeAnswer) => retryAfterOf(headers['retry-after'], Date.now());

/** @throws TargetFailure for an answer that other requests would get, too: a redirect is not followed */
function checked(answer: ExchangeAnswer): ExchangeAnswer {
  const { status } = answer;
  if (status < 300 || (status >= 400 && status < 500 && ![401, 403, 408, 425, 429].includes(status)) || status === 501)
    return answer;
  throw new TargetFailure(`answered ${status}`, status, pauseOf(answer));
}

function refused(answer: ExchangeAnswer): RequestRefused {
  const { scimType: type } = objectIn(answer.body);
  const kind = typeof type === 'string' && /^[A-Za-z]{1,40}$/.test(type) ? ` ${type}` : '';
  return new RequestRefused(`answered ${answer.status}${kind}`, answer.status);
}

/** The object of a body; an empty one for anything else. */
function objectIn(body: string): Values {
  try {
    const read: unknown = JSON.parse(body);
    return typeof read === 'object' && read !== null ? (read as Values) : {};
  } catch {
    return {};
  }
}
