// Decides what comes next for an authorization request; pure, so that the order of the rules can be read and tested.
import type { ErrorCode } from '../oauth/errors.ts';
import { claimsOfScopes } from '../oauth/scope.ts';

export interface Situation {
  prompts: readonly string[];
  /** In seconds. */
  maxAge: number | undefined;
  /** Whom the client expects, by a valid id_token_hint or by the claims that it asks for; undefined is anybody. */
  expectedSubs: readonly string[] | undefined;
  scope: readonly string[];
  /** Single claims beside those of the scopes. */
  claims: readonly string[];
  redirectUri: string;
  session: { sub: string; authTime: Date; now: Date; secondFactor: boolean } | undefined;
  /** How the session's sign-in stands to the level that is demanded, or that is wished for and can be reached. */
  acr: 'met' | 'wished' | 'demanded';
  /** What of a passkey could meet the demand: that the person makes the first one, or uses one that this sign-in has not seen. */
  passkey?: 'make' | 'use' | undefined;
  /** What the user has granted to the client before. */
  grant: { scope: readonly string[]; claims: readonly string[]; redirectUris: readonly string[] } | undefined;
  firstParty: boolean;
  /** A client that no administrator looked at asks again for each redirect URI (security R11, A25). */
  selfRegistered: boolean;
  /** The stored request, once the browser was sent to a page. */
  transaction: { createdAt: Date; decision: { allowed: boolean; sub: string } | undefined } | undefined;
}

export type NextStep =
  | { step: 'login' }
  /** The client wants a new account. */
  | { step: 'sign-up' }
  /** The password was shown, and a second factor is missing. */
  | { step: 'second-factor' }
  /** The person has shown all factors there are, and a passkey would reach what is demanded. */
  | { step: 'passkey' }
  | { step: 'consent' }
  | { step: 'issue'; recordGrant: boolean }
  | { step: 'error'; code: ErrorCode; description: string };

export function nextStep(situation: Situation): NextStep {
  const { prompts, session, transaction } = situation;
  const silent = prompts.includes('none');
  const login = loginNeeded(situation);
  if (login) {
    if (silent) return { step: 'error', code: 'login_required', description: 'the End-User has to sign in' };
    // somebody signed in for this request, but not whom the client expects: asking again would not end
    if (login === 'other-user' && session && transaction && session.authTime > transaction.createdAt) {
      return { step: 'error', code: 'login_required', description: 'another End-User than the expected one signed in' };
    }
    if (login === 'unmet')
      return {
        step: 'error',
        code: 'unmet_authentication_requirements',
        description: 'the sign-in did not reach the acr that is demanded',
      };
    if (login === 'new') return { step: 'sign-up' };
    if (login === 'passkey') return { step: 'passkey' };
    if (login === 'step-up') return { step: 'second-factor' };
    return { step: 'login' };
  }
  const decision = transaction?.decision;
  const decided = decision?.sub === session!.sub ? decision : undefined;
  if (decided && !decided.allowed)
    return { step: 'error', code: 'access_denied', description: 'the End-User did not allow it' };
  const covered = grantCovers(situation);
  const mustAsk = (!situation.firstParty && !covered) || (prompts.includes('consent') && !situation.firstParty);
  if (mustAsk && !decided) {
    if (silent) return { step: 'error', code: 'consent_required', description: 'the End-User has to give consent' };
    return { step: 'consent' };
  }
  // an allowed request whose grant was withdrawn meanwhile is asked again
  if (!situation.firstParty && !covered) return { step: 'consent' };
  return {
    step: 'issue',
    recordGrant: !covered || !situation.claims.every((claim) => situation.grant!.claims.includes(claim)),
  };
}

function loginNeeded({
  prompts,
  maxAge,
  expectedSubs,
  acr,
  passkey,
  session,
  transaction,
}: Situation): 'new' | 'passkey' | 'signed-out' | 'fresh' | 'other-user' | 'unmet' | 'step-up' | undefined {
  // only a credential check after the request began can satisfy these (security R9)
  const fresh = transaction !== undefined && session !== undefined && session.authTime > transaction.createdAt;
  if (prompts.includes('create') && !fresh) return 'new';
  if (!session) return 'signed-out';
  if ((prompts.includes('login') || prompts.includes('select_account')) && !fresh) return 'fresh';
  if (maxAge !== undefined && !fresh && session.now.getTime() - session.authTime.getTime() > maxAge * 1000)
    return 'fresh';
  if (expectedSubs !== undefined && !expectedSubs.includes(session.sub)) return 'other-user';
  // a wish is no reason to ask where nobody may be asked, nor to ask again
  if (acr === 'wished') return prompts.includes('none') || session.secondFactor ? undefined : 'step-up';
  if (acr === 'demanded' && passkey === 'make') return 'passkey';
  if (acr === 'demanded' && passkey === 'use') return 'step-up';
  if (acr === 'demanded') return fresh && session.secondFactor ? 'unmet' : 'step-up';
  return undefined;
}

function grantCovers({ grant, scope, claims, redirectUri, selfRegistered }: Situation): boolean {
  if (!grant || !scope.every((value) => grant.scope.includes(value))) return false;
  // who let a client see the whole profile let it see the name
  const granted = [...grant.claims, ...claimsOfScopes(grant.scope)];
  if (!claims.every((claim) => granted.includes(claim))) return false;
  return !selfRegistered || grant.redirectUris.includes(redirectUri);
}
