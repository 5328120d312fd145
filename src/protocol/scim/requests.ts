// Reads requests of SCIM: who sends them, which page and attributes they ask for, and which version they expect.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ScimSource } from '../../entities/scim-sources.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { splitScope } from '../../oauth/scope.ts';
import type { Store } from '../../repositories/store.ts';
import { invalidSyntax, invalidValue, ScimError } from '../../rules/scim/errors.ts';
import { type Filter, parseFilter, partOf } from '../../rules/scim/filter.ts';
import { isObject, type Values } from '../../rules/scim/resource.ts';
import { type ProtectedResource, requireAccessToken } from '../../sender-constraint/protected-resource.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';
import { versionOf } from './responses.ts';
import type { Expects } from '../../domain/scim/users.ts';

/** The most resources of a page. */
export const mostResults = 200;
const searchSchema = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';

const unauthorized = () => new ScimError(401, 'send the token of this source as Bearer');

/** What a caller is checked against. */
export interface ScimEntrance extends ProtectedResource {
  store: Pick<Store, 'scimSources' | 'accessTokens'>;
  limits: Limits;
}

/**
 * The enabled source of the address, which a token of the source opens, or an access token of a client that an administrator gave it to. Every other
 * request gets the same answer (federation F69).
 * @throws ScimError
 */
export async function authenticate(
  entrance: ScimEntrance,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ScimSource> {
  const { store, limits } = entrance;
  const { source: id = '' } = request.params as { source?: string };
  if (!/^[a-z][a-z0-9-]{1,39}$/.test(id)) throw unauthorized();
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const hash = token === undefined ? undefined : opaqueTokenHash('scim_token', token);
  const source = await (hash ? store.scimSources.authenticate(id, hash) : sourceOfClient(entrance, request, reply, id));
  if (!source) throw unauthorized();
  const wait = limits.blocked('scim', id) || (await limits.consume('scim', id));
  if (wait > 0) throw new TooMany(wait);
  return source;
}

/** The source that a client opens by an access token of its own with the scope scim, under the rules of every access token (federation 8). */
async function sourceOfClient(
  entrance: ScimEntrance,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
): Promise<ScimSource | undefined> {
  try {
    const token = await requireAccessToken(entrance, request, reply);
    // a user opens no source
    if (token.user || !splitScope(token.scope).includes('scim')) return undefined;
    return await entrance.store.scimSources.ofClient(id, token.clientId);
  } catch (error) {
    // the caller does not learn why, except the nonce without which it could not repeat the request (RFC 9449 9)
    if (error instanceof OAuthError && error.status < 500 && error.code !== 'use_dpop_nonce') return undefined;
    throw error;
  }
}

/** Past LIMIT_SCIM. */
export class TooMany extends ScimError {
  readonly wait: number;
  constructor(wait: number) {
    super(429, 'too many requests of this source: try again later');
    this.wait = wait;
  }
}

/** What a list is asked for, by the query or by the body of a search (RFC 7644 3.4.2, 3.4.3). */
export interface Search {
  filter: Filter | undefined;
  startIndex: number;
  count: number;
  attributes: string | undefined;
  excluded: string | undefined;
}

function wholeNumber(given: unknown, name: string): number | undefined {
  if (given === undefined || given === null || given === '') return undefined;
  const text = typeof given === 'number' ? String(given) : given;
  if (typeof text !== 'string' || !/^-?\d{1,15}$/.test(text)) throw invalidValue(`${name} must be a whole number`);
  return Number(text);
}

/** A text of a query, or a list of a body. */
function names(given: unknown, name: string): string | undefined {
  if (given === undefined || given === null) return undefined;
  const joined = Array.isArray(given) ? given.join(',') : given;
  if (typeof joined !== 'string' || joined.length > 4000) throw invalidValue(`${name} must be names of attributes`);
  return joined === '' ? undefined : joined;
}

export const selectionOf = (query: unknown): Pick<Search, 'attributes' | 'excluded'> => {
  const given = isObject(query) ? query : {};
  return {
    attributes: names(partOf(given, 'attributes'), 'attributes'),
    excluded: names(partOf(given, 'excludedAttributes'), 'excludedAttributes'),
  };
};

/** @throws ScimError */
export function searchOf(given: Values): Search {
  const filter = partOf(given, 'filter');
  if (filter !== undefined && filter !== null && typeof filter !== 'string')
    throw invalidValue('filter must be a text');
  const count = wholeNumber(partOf(given, 'count'), 'count') ?? mostResults;
  return {
    filter: filter ? parseFilter(filter) : undefined,
    // both are read as the nearest allowed number (RFC 7644 3.4.2.4)
    startIndex: Math.max(1, wholeNumber(partOf(given, 'startIndex'), 'startIndex') ?? 1),
    count: Math.min(mostResults, Math.max(0, count)),
    ...selectionOf(given),
  };
}

/** @throws ScimError invalidSyntax */
export function searchBody(body: unknown): Values {
  const schemas = isObject(body) ? partOf(body, 'schemas') : undefined;
  if (!isObject(body) || !Array.isArray(schemas) || !schemas.includes(searchSchema))
    throw invalidSyntax(`schemas must have ${searchSchema}`);
  return body;
}

const tagsOf = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];
const isSame = (header: string, version: string): boolean =>
  header.trim() === '*' || tagsOf(header).some((tag) => tag.replace(/^W\//, '') === version.replace(/^W\//, ''));

/** Refuses another version than If-Match names (RFC 7644 3.14): weak tags count, since every version is weak. */
export function expectationOf({ headers }: FastifyRequest): Expects {
  const header = headers['if-match'];
  return (one) => {
    if (header !== undefined && !isSame(header, versionOf(one)))
      throw new ScimError(412, 'the resource has another version: read it again');
  };
}

export const isKnown = ({ headers }: FastifyRequest, version: string): boolean =>
  headers['if-none-match'] !== undefined && isSame(headers['if-none-match'], version);
