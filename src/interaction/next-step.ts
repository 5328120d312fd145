// Decides the next step of an authorization request: sign-in, second factor, consent, response or error. Pure functions over facts.
import { hasPower, recentlyAuthenticated, vainTrip } from '../browser/recent-sign-in.ts';
import { isKnownAuthTime, needsPasskey, preferredAcr } from '../oauth/acr.ts';
import type { AccessRefusal } from '../rules/access/access.ts';
import { grantCovers, missingDemand, type SecondFactorPolicy } from '../rules/access/demands.ts';
import type { ErrorCode } from '../oauth/errors.ts';
import { covers, type Granted, nothing } from '../oauth/granted.ts';
import type { GrantParts } from '../repositories/clients/grants.ts';
import type { Session } from '../repositories/sessions/sessions.ts';

type Member = Pick<Session['user'], 'admin' | 'groups'>;

/** The request of the client. */
export interface Asked extends Granted {
  prompts: readonly string[];
  /** In seconds. */
  maxAge: number | undefined;
  /** Whether the ID Token has to say when the user authenticated: an essential claim, or the client's registration. */
  needsAuthTime?: boolean;
  /** The users that id_token_hint or requested claims allow; undefined if the client names none. */
  expectedSubs: readonly string[] | undefined;
  redirectUri: string;
  /** The levels that the resources and the types of the details demand. */
  resourceAcrs: readonly string[];
  /** Whether an earlier consent never covers its details. */
  asksAlways?: boolean;
  /** The levels that the client wants, in order of preference; essential ones are demanded. */
  acr: { values: readonly string[]; essential: boolean };
}

/** The facts about session, grant, client and stored request. */
export interface Facts {
  session:
    | (Pick<Session, 'authTime' | 'now' | 'amr' | 'enrolled'> & {
        user: Member & { sub: string };
        upstream?: Session['upstream'];
        /** Whether the browser spared the second factor at the sign-in. */
        spared?: boolean;
      })
    | undefined;
  /** Whether the user can sign in here for the client, without a connection. It is read only if cameForNothing() says so. */
  signsInHere?: boolean;
  /** The earlier grant of the user to the client. */
  grant: GrantParts | undefined;
  /**
   * `selfRegistered` if no administrator has reviewed the client: it asks again for each redirect URI (security R11, A25). `development` if its
   * answers may go over http: it asks each time.
   */
  client: { firstParty: boolean; selfRegistered: boolean; development?: boolean; requiredAcr: string | undefined };
  /** What mayUse() says about the session's user; `yes` without a session. */
  access: 'yes' | AccessRefusal;
  secondFactor: SecondFactorPolicy;
  /** Whether the user has a passkey. It is read only if wantsPasskey() says so. */
  passkeys: 'unavailable' | 'none' | 'some';
  /** The stored request, once the browser was sent to a page. */
  transaction:
    | { createdAt: Date; decision: { allowed: boolean; sub: string; details?: Granted['details'] } | undefined }
    | undefined;
}

export type NextStep =
  | { step: 'login' }
  /** The client wants the user to choose an account. */
  | { step: 'select-account' }
  /** The client wants a new account. */
  | { step: 'sign-up' }
  /** The first factor was shown, and a second one is missing. */
  | { step: 'second-factor' }
  /** The user has shown every factor of the account, and a new passkey would reach the demanded level. */
  | { step: 'passkey' }
  /** The user may not use the client: the page says whom to ask. */
  | { step: 'access-denied'; reason: AccessRefusal }
  | { step: 'consent' }
  | { step: 'issue'; recordGrant: boolean }
  | { step: 'error'; code: ErrorCode; description: string };

/** Decides the next step of an authorization request. */
export function decide(facts: Facts, request: Asked): NextStep {
  const { session, transaction } = facts;
  const { prompts } = request;
  const silent = prompts.includes('none');
  const needed = authenticationNeeded(facts, request);
  if (needed) {
    if (silent) return error('login_required', 'the End-User has to sign in');
    // another user has signed in for this request: asking again would never end
    if (needed === 'other-user' && (isFresh(facts) || hasChosen(facts)))
      return error('login_required', 'another End-User than the expected one signed in');
    if (needed === 'untimed')
      return error('login_required', 'the connection did not say when the End-User signed in there');
    if (needed === 'unmet')
      return error('unmet_authentication_requirements', 'the sign-in did not reach the acr that is demanded');
    return { step: needed === 'other-user' ? 'login' : needed };
  }
  const decision = transaction?.decision;
  const decided = decision?.sub === session!.user.sub ? decision : undefined;
  // a user who has read the page sends the client its answer
  if (facts.access !== 'yes')
    return silent || decided?.allowed === false
      ? error('access_denied', 'the End-User may not use this client')
      : { step: 'access-denied', reason: facts.access };
  if (decided && !decided.allowed) return error('access_denied', 'the End-User did not allow it');
  const { development = false } = facts.client;
  const firstParty = facts.client.firstParty && !development;
  const { details = [], ...rest } = request;
  const covered = grantCovers(facts.grant, facts.client, rest);
  // the decision is about these details, and the statement that issues compares them again
  const shown =
    details.length === 0 || decided !== undefined || (!request.asksAlways && coversDetails(facts.grant, details));
  // a user allows details only by reading them, whoever runs the client (security R142)
  if (!shown) return silent ? error('consent_required', 'the End-User has to give consent') : { step: 'consent' };
  if (!firstParty && !decided && (development || !covered || prompts.includes('consent')))
    return silent ? error('consent_required', 'the End-User has to give consent') : { step: 'consent' };
  // the user allowed the request, but has withdrawn the grant since: the consent page asks again
  if (!firstParty && !covered) return { step: 'consent' };
  return {
    step: 'issue',
    recordGrant: !covered || !request.claims.every((claim) => facts.grant!.claims.includes(claim)),
  };
}

/** Whether the user has allowed each of these details before. */
const coversDetails = (grant: GrantParts | undefined, details: NonNullable<Granted['details']>): boolean =>
  covers(grant ?? nothing, { ...nothing, details });

/** Whether the decision depends on whether the user has a passkey. */
export function wantsPasskey(facts: Omit<Facts, 'passkeys'>, request: Asked): boolean {
  const missing = facts.session && missingLevel(facts, facts.session, request);
  return (
    missing?.demanded === true &&
    needsPasskey(missing.values) &&
    !facts.session!.amr.some((method) => method === 'swk' || method === 'hwk')
  );
}

/** Whether the user has been at a connection for this request, which proved no new sign-in: the decision may depend on what else the user has. */
export function cameForNothing({ session, transaction }: Pick<Facts, 'session' | 'transaction'>): boolean {
  const trip = session && vainTrip(session);
  return trip !== undefined && transaction !== undefined && trip > transaction.createdAt;
}

const error = (code: ErrorCode, description: string): NextStep => ({ step: 'error', code, description });

function authenticationNeeded(
  facts: Facts,
  request: Asked,
):
  | 'login'
  | 'select-account'
  | 'sign-up'
  | 'second-factor'
  | 'passkey'
  | 'other-user'
  | 'untimed'
  | 'unmet'
  | undefined {
  const { session } = facts;
  const { prompts, maxAge, needsAuthTime, expectedSubs } = request;
  // only a sign-in after the request began can satisfy these (security R9)
  const fresh = isFresh(facts);
  // one trip to a connection, then an answer: the same trip again would never end (federation FR10)
  const again = cameForNothing(facts) && session ? afterTrip(session, facts) : undefined;
  if (prompts.includes('create') && !fresh) return again ?? 'sign-up';
  // a user who continues with the account of the session ends this prompt (OpenID Connect Core 3.1.2.1)
  if (prompts.includes('select_account') && !fresh && !hasChosen(facts)) return 'select-account';
  if (!session) return 'login';
  if (prompts.includes('login') && !fresh) return again ?? 'login';
  if (maxAge !== undefined && !fresh && session.now.getTime() - session.authTime.getTime() > maxAge * 1000)
    return again ?? 'login';
  // nothing says it: neither the token nor a comparison with max_age could be right
  if ((maxAge !== undefined || needsAuthTime) && !isKnownAuthTime(session.authTime)) return again ?? 'login';
  if (expectedSubs !== undefined && !expectedSubs.includes(session.user.sub)) return 'other-user';
  const missing = missingLevel(facts, session, request);
  if (!missing) return undefined;
  const shown = session.amr.includes('mfa');
  // a voluntary level is asked for once, and never with prompt=none
  if (!missing.demanded) return session.enrolled && !shown && !prompts.includes('none') ? 'second-factor' : undefined;
  if (facts.passkeys !== 'unavailable' && wantsPasskey(facts, request))
    return facts.passkeys === 'none' && recentlyAuthenticated(session) ? 'passkey' : 'second-factor';
  return fresh && shown ? 'unmet' : 'second-factor';
}

/** Whether the user has authenticated for this request. */
const isFresh = ({ session, transaction }: Facts): boolean =>
  transaction !== undefined && session !== undefined && session.authTime > transaction.createdAt;

/** Whether the user has chosen an account at a connection for this request. */
const hasChosen = ({ session, transaction }: Facts): boolean =>
  session?.upstream?.at !== undefined && transaction !== undefined && session.upstream.at > transaction.createdAt;

/** What else can prove who the user is: a second factor, the sign-in here, or nothing. */
const afterTrip = ({ enrolled }: NonNullable<Facts['session']>, { signsInHere }: Facts) =>
  enrolled ? 'second-factor' : signsInHere ? 'login' : 'untimed';

/** The level that the session does not reach: of the client, of a resource, of the service, or of the request (RFC 9470). */
function missingLevel(
  { client, secondFactor }: Omit<Facts, 'passkeys'>,
  session: NonNullable<Facts['session']>,
  { acr, resourceAcrs }: Asked,
): { values: readonly string[]; demanded: boolean } | undefined {
  const policy = isSpared(session, secondFactor) ? nothingDemanded : secondFactor;
  const missing = missingDemand(client, resourceAcrs, policy, session.user, session.amr);
  if (missing) return { values: [missing.level], demanded: true };
  if (acr.values.length === 0 || preferredAcr(acr.values, session.amr) !== undefined) return undefined;
  return { values: acr.values, demanded: acr.essential };
}

const nothingDemanded: SecondFactorPolicy = { of: 'off', groups: [] };

/** Whether the browser has spared a second factor that the service itself demands; a client, a resource or a request that demands one asks for it. */
const isSpared = ({ spared, enrolled, user }: NonNullable<Facts['session']>, { groups }: SecondFactorPolicy): boolean =>
  spared === true && enrolled && !hasPower(user, groups);
