// Sends the requests of a SCIM client to provisioning targets (RFC 7644 3), with a bearer token or with an access token of its own token endpoint.
import type { SecretBox } from '../../crypto/secret-box.ts';
import { type ExchangeAnswer, FetchRefused, type GuardedExchange } from '../../outbound/guarded-fetch.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { Target } from '../../repositories/provisioning/provisioning-targets.ts';
import {
  filterOf,
  type Found,
  foundIn,
  groupSchema,
  idInLocation,
  lacksPatch,
  matchesIn,
  type PatchOperation,
  patchOf,
  retryAfterOf,
  showsMembers,
  userSchema,
  type Values,
  withChanges,
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

class AnswerTooLong extends TargetFailure {}

/** The target refuses this request: others go on. */
export class RequestRefused extends Error {
  readonly status: number | undefined;
  constructor(message: string, status?: number) {
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
/** The milliseconds in which the requests of an attempt begin. The last one may take its time after them, with one for an access token. */
export const attemptLimits = { begin: 200_000, last: 2 * timeout };
/** Milliseconds for which it is known whether a target has PATCH. */
const knownFor = 3_600_000;
const scimType = 'application/scim+json';

export function createTargetClients({ secretBox, exchange, stopped }: TargetClientOptions) {
  /** Access tokens by target. */
  const tokens = new Map<string, { token: string; version: number; until: number }>();
  /** Whether a target has PATCH, for each that has refused one. */
  const patchSupport = new Map<string, { hasPatch: boolean; version: number; until: number }>();

  async function ask(...[url, sent]: Parameters<GuardedExchange>): Promise<ExchangeAnswer> {
    try {
      return await exchange(url, { ...sent, timeout, maxBytes, signal: stopped });
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error;
      if (error.isTooLong) throw new AnswerTooLong('the answer is too long');
      const cause = error.cause as NodeJS.ErrnoException | undefined;
      throw new TargetFailure(
        `cannot be reached (${cause?.code ?? cause?.message ?? 'the address is not allowed'})`.slice(0, 500),
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

  /** A connection is for one attempt. */
  return (target: Target) => {
    const end = Date.now() + attemptLimits.begin;
    const base = target.baseUrl.replace(/\/+$/, '');
    const uriOf = (collection: Collection, id?: string) =>
      `${base}/${collection}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;

    async function send(method: string, url: string, body?: Values, version?: string): Promise<ExchangeAnswer> {
      const answer = await attempt(method, url, body, version);
      // an access token may end before its time
      if (answer.status !== 401 || !tokens.delete(target.id)) return checked(answer);
      return checked(await attempt(method, url, body, version));
    }
    async function attempt(method: string, url: string, body?: Values, version?: string): Promise<ExchangeAnswer> {
      // another instance may take over when the lease ends
      if (Date.now() >= end) throw new RequestRefused('the requests took too long');
      return ask(url, {
        method,
        ...(body && { body: JSON.stringify(body) }),
        headers: {
          authorization: `Bearer ${await tokenOf(target)}`,
          accept: `${scimType}, application/json`,
          ...(body && { 'content-type': scimType }),
          ...(version !== undefined && { 'if-match': version }),
        },
      });
    }
    /** Sends a request to one resource: that its answer is too long says nothing about the others. */
    async function sendToOne(...request: Parameters<typeof send>): Promise<ExchangeAnswer> {
      try {
        return await send(...request);
      } catch (error) {
        throw error instanceof AnswerTooLong ? new RequestRefused(error.message) : error;
      }
    }

    /** Undefined while unknown. */
    function hasPatch(): boolean | undefined {
      const kept = patchSupport.get(target.id);
      return kept && kept.version === target.version && kept.until > Date.now() ? kept.hasPatch : undefined;
    }

    /** Asks a target that refused a PATCH whether it has any: one without may answer that the address does not exist. */
    async function learnPatch(answer: ExchangeAnswer): Promise<boolean> {
      if (!mayLackPatch(answer)) return true;
      const configuration = await readConfiguration();
      const lacks = configuration ? lacksPatch(configuration) : answer.status === 405 || answer.status === 501;
      patchSupport.set(target.id, { hasPatch: !lacks, version: target.version, until: Date.now() + knownFor });
      return !lacks;
    }

    /** Undefined for a target that shows none. */
    async function readConfiguration(): Promise<Values | undefined> {
      try {
        const answer = await send('GET', `${base}/ServiceProviderConfig`);
        return answer.status === 200 ? objectIn(answer.body) : undefined;
      } catch (error) {
        // it may be closed to this token, and the other addresses not
        if (error instanceof TargetFailure) return undefined;
        throw error;
      }
    }

    /** Reads the whole resource, and writes it with the changes. A change that another client makes in between is not undone, if the target has versions. */
    async function replace(
      collection: Collection,
      id: string,
      operations: readonly PatchOperation[],
      mayHide: boolean,
      again = true,
    ): Promise<number | undefined> {
      const uri = uriOf(collection, id);
      const read = await sendToOne('GET', uri);
      if (isGone(read)) return undefined;
      const found = read.status === 200 ? foundIn(objectIn(read.body)) : undefined;
      if (!found) throw refused(read);
      // it would lose those that it does not show
      if (collection === 'Groups' && !mayHide && !showsMembers(found.values))
        throw new RequestRefused(
          'the application does not show who is in the group: it was not written, so that no member is lost',
          read.status,
        );
      const whole = withChanges(found.values, operations, collection === 'Users' ? userSchema : groupSchema);
      const answer = await sendToOne('PUT', uri, whole, read.headers.etag);
      if (isGone(answer)) return undefined;
      if (answer.status === 412 && again) return replace(collection, id, operations, mayHide, false);
      if (!isGood(answer)) throw refused(answer);
      return answer.status;
    }

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
        const answer = await sendToOne('GET', uriOf(collection, id));
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
      /**
       * Undefined for a resource that is gone. A target without PATCH gets the whole resource (RFC 7644 3.5.1).
       * @param mayHide whether it is a group that has no member, so that its answer need not show any
       */
      async patch(
        collection: Collection,
        id: string,
        operations: readonly PatchOperation[],
        mayHide = false,
      ): Promise<number | undefined> {
        if (hasPatch() === false) return replace(collection, id, operations, mayHide);
        const answer = await sendToOne('PATCH', uriOf(collection, id), patchOf(operations));
        if (isGood(answer)) return answer.status;
        if (!(hasPatch() ?? (await learnPatch(answer)))) return replace(collection, id, operations, mayHide);
        if (isGone(answer)) return undefined;
        throw refused(answer);
      },
      async remove(collection: Collection, id: string): Promise<number> {
        const answer = await sendToOne('DELETE', uriOf(collection, id));
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

/** The kind of an error; undefined for none that can be read (RFC 7644 3.12). */
function errorKindOf({ body }: ExchangeAnswer): string | undefined {
  const { scimType: kind } = objectIn(body);
  return typeof kind === 'string' && /^[A-Za-z]{1,40}$/.test(kind) ? kind : undefined;
}

/** Whether a target may refuse a PATCH because it has none: one that names the kind of an error has read it. */
const mayLackPatch = (answer: ExchangeAnswer): boolean =>
  [400, 404, 405, 415, 501].includes(answer.status) && errorKindOf(answer) === undefined;

function refused(answer: ExchangeAnswer): RequestRefused {
  const kind = errorKindOf(answer);
  return new RequestRefused(`answered ${answer.status}${kind === undefined ? '' : ` ${kind}`}`, answer.status);
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
