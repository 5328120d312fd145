// Names the token types of a token exchange, and builds the chain of actors of a delegated token (RFC 8693 3, 4.1).

/** The types of tokens that requests and responses name (RFC 8693 section 3). */
export const tokenTypes = {
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
  refreshToken: 'urn:ietf:params:oauth:token-type:refresh_token',
  idToken: 'urn:ietf:params:oauth:token-type:id_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
  // draft-ietf-oauth-identity-assertion-authz-grant
  idJag: 'urn:ietf:params:oauth:token-type:id-jag',
} as const;

/** The type of an ID-JAG as a JWT, and the seconds for which one is valid. */
export const idJagType = 'oauth-id-jag+jwt';
export const idJagLifetime = 300;

/** A client that acts for the subject of a token, and the one for which it acted before (RFC 8693 4.1). */
export interface ActingParty {
  readonly sub: string;
  readonly client_id: string;
  readonly act?: ActingParty | undefined;
}

/** The most actors that a token names. */
export const maxActors = 4;

/** The chain with a further actor; undefined if it would be longer than a token may have. */
export function withActor(
  actor: Pick<ActingParty, 'sub' | 'client_id'>,
  earlier?: ActingParty,
): ActingParty | undefined {
  if (lengthOf(earlier) >= maxActors) return undefined;
  return { ...actor, ...(earlier && { act: earlier }) };
}

const lengthOf = (actor: ActingParty | undefined): number => (actor ? 1 + lengthOf(actor.act) : 0);

/** The clients of a chain, the newest first. */
export const actorsOf = (actor: ActingParty | undefined): string[] =>
  actor ? [actor.client_id, ...actorsOf(actor.act)] : [];
