// Decides whether an authorization response is issued; the stored function that issues it decides the same, and a test compares the two.

export interface ResponseFacts {
  /** Whether the stored request was answered before; false where none was stored. */
  answered: boolean;
  /** The session lives, and its user and the client are enabled. */
  live: boolean;
  clientVersion: number;
  /** What the user granted to the client; undefined after a withdrawal. */
  grant: { scope: readonly string[]; claims: readonly string[] } | undefined;
  /** The age of the session's responses in seconds. */
  ages: readonly number[];
  /** The live unredeemed codes of the session and client, the oldest first. */
  codes: readonly string[];
}

export interface ResponseRequest {
  /** The version of the client that the request was validated against. */
  clientVersion: number;
  scope: readonly string[];
  /** Single claims that the grant must cover, in addition to those of the scopes. */
  claims: readonly string[];
  hasCode: boolean;
  /** How many unredeemed codes the session and client may have, including the new one. */
  maxCodes: number;
  /** How many responses the session may get in a minute; 0 for no limit. */
  maxPerMinute: number;
}

export type ResponseRefusal =
  | 'answered' // in another tab
  | 'ended' // the session, the user, the client in this version or the grant is no longer valid
  | 'limit'; // the session got too many responses in the last minute

export type ResponseOutcome = { refusal: ResponseRefusal } | { /** The codes that end. */ replaces: readonly string[] };

/** Security R4, R19, R30, R42. */
export function decideResponse(facts: ResponseFacts, request: ResponseRequest): ResponseOutcome {
  const { grant, codes } = facts;
  if (facts.answered) return { refusal: 'answered' };
  if (!facts.live || facts.clientVersion !== request.clientVersion) return { refusal: 'ended' };
  if (!grant || !covers(grant.scope, request.scope) || !covers(grant.claims, request.claims))
    return { refusal: 'ended' };
  const recent = facts.ages.filter((age) => age < 60).length;
  if (request.maxPerMinute > 0 && recent >= request.maxPerMinute) return { refusal: 'limit' };
  const surplus = request.hasCode ? Math.max(0, codes.length + 1 - request.maxCodes) : 0;
  return { replaces: codes.slice(0, surplus) };
}

const covers = (granted: readonly string[], asked: readonly string[]) =>
  asked.every((value) => granted.includes(value));
