// Decides what comes next for an authorization request; pure, so that the order of the rules can be read and tested.
import type { ErrorCode } from '../../oauth/errors.ts';

export interface Situation {
  prompts: readonly string[];
  /** In seconds. */
  maxAge: number | undefined;
  /** The subject that a valid id_token_hint names. */
  hintedSub: string | undefined;
  scope: readonly string[];
  redirectUri: string;
  session: { sub: string; authTime: Date; now: Date } | undefined;
  /** What the user has granted to the client before. */
  grant: { scope: readonly string[]; redirectUris: readonly string[] } | undefined;
  firstParty: boolean;
  /** A client that no administrator looked at asks again for each redirect URI (attack case A25). */
  selfRegistered: boolean;
  /** The stored request, once the browser was sent to a page. */
  transaction: { createdAt: Date; decision: { allowed: boolean; sub: string } | undefined } | undefined;
}

export type NextStep =
  | { step: 'login' }
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
      return { step: 'error', code: 'login_required', description: 'another End-User than the hinted one signed in' };
    }
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
  return { step: 'issue', recordGrant: !covered };
}

function loginNeeded({
  prompts,
  maxAge,
  hintedSub,
  session,
  transaction,
}: Situation): 'signed-out' | 'fresh' | 'other-user' | undefined {
  if (!session) return 'signed-out';
  // only a credential check after the request began can satisfy these (security requirement R9)
  const fresh = transaction !== undefined && session.authTime > transaction.createdAt;
  if ((prompts.includes('login') || prompts.includes('select_account')) && !fresh) return 'fresh';
  if (maxAge !== undefined && !fresh && session.now.getTime() - session.authTime.getTime() > maxAge * 1000)
    return 'fresh';
  if (hintedSub !== undefined && hintedSub !== session.sub) return 'other-user';
  return undefined;
}

function grantCovers({ grant, scope, redirectUri, selfRegistered }: Situation): boolean {
  if (!grant || !scope.every((value) => grant.scope.includes(value))) return false;
  return !selfRegistered || grant.redirectUris.includes(redirectUri);
}
