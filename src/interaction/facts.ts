// Collects the facts about a verified request and its browser, from which the policy decides the next step.
import type { Passkeys } from '../authenticators/passkey/passkeys.ts';
import type { ConnectionRouting } from '../authenticators/connection/routing.ts';
import type { Config } from '../config.ts';
import { type Asked, cameForNothing, decide, type Facts, type NextStep, wantsPasskey } from './next-step.ts';
import { mayUse, wayOf } from '../rules/access/access.ts';
import type { Granted } from '../oauth/granted.ts';
import { isServiceScopeOf } from '../oauth/scope.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import type { SignInContext } from '../repositories/sessions/sign-in-context.ts';
import type { Store } from '../repositories/store.ts';
import { resourceGrants } from '../sender-constraint/audience.ts';
import { detailAcrs } from '../sender-constraint/authorization-details.ts';
import type { VerifiedRequest } from './relying-party.ts';

export interface DecisionDependencies {
  config: Config;
  store: Pick<Store, 'pairwiseSubjects' | 'passkeys'>;
  passkeys: Passkeys;
  connectionRouting: Pick<ConnectionRouting, 'takesPasswordOf'>;
}

export function createDecision({ config, store, passkeys, connectionRouting }: DecisionDependencies) {
  /** The users that the client expects: the session's user, if every list has the client's subject of that user. */
  async function expectedSubs(
    { client, subjects }: VerifiedRequest,
    session: Session | undefined,
  ): Promise<string[] | undefined> {
    if (subjects.length === 0) return undefined;
    const subject = session && (await store.pairwiseSubjects.find(client.metadata, session.user.sub));
    return subject !== undefined && subjects.every((names) => names.includes(subject)) ? [session!.user.sub] : [];
  }

  /** The fact about passkeys, which costs a statement only if the decision depends on it. */
  async function passkeysOf(facts: Omit<Facts, 'passkeys'>, asked: Asked): Promise<Facts['passkeys']> {
    if (!passkeys.available || !facts.session || !wantsPasskey(facts, asked)) return 'unavailable';
    return (await store.passkeys.list(facts.session.user.sub)).length > 0 ? 'some' : 'none';
  }

  /** Whether a password signs the user in to the client; a passkey is a second factor. It is read only after a trip that freshened nothing. */
  async function signsInHere(
    facts: Pick<Facts, 'session' | 'transaction'>,
    { client }: VerifiedRequest,
    session: Session | undefined,
  ): Promise<boolean> {
    if (!session || !cameForNothing(facts) || client.connections.length > 0) return false;
    return connectionRouting.takesPasswordOf(session.user);
  }

  return async (
    request: VerifiedRequest,
    { session, grant }: Pick<SignInContext, 'session' | 'grant'>,
    transaction: Facts['transaction'],
    address: string | undefined,
  ): Promise<NextStep> => {
    const asked: Asked = {
      prompts: request.prompts,
      maxAge: request.maxAge,
      needsAuthTime: request.needsAuthTime,
      expectedSubs: await expectedSubs(request, session),
      ...askedBy(request),
      resourceAcrs: [
        ...request.targets.flatMap(({ api }) => api?.requiredAcr ?? []),
        ...detailAcrs(request.details ?? []),
      ],
      asksAlways: request.details?.some(({ type }) => !type.remembered) ?? false,
      redirectUri: request.registeredUri,
      acr: request.acr,
    };
    const { firstParty, approvedBy, development, requiredAcr } = request.client;
    const facts = {
      session,
      grant,
      client: { firstParty, selfRegistered: approvedBy === 'automatic', development, requiredAcr },
      access: session
        ? mayUse(session.user, request.client, { from: { address }, by: wayOf(session) })
        : ('yes' as const),
      secondFactor: config.secondFactor,
      transaction,
    };
    return decide(
      { ...facts, passkeys: await passkeysOf(facts, asked), signsInHere: await signsInHere(facts, request, session) },
      asked,
    );
  };
}

/** What the user has to grant. */
export const askedBy = (request: VerifiedRequest): Granted => ({
  ...grantedBy(request),
  ...(request.details && { details: request.details.map(({ detail }) => detail) }),
});

/** The part that a first-party client gets without the consent page: no authorization details. */
export const grantedBy = ({ client, scope, claims, targets }: VerifiedRequest): Granted => ({
  scope: scope.filter(isServiceScopeOf(client)),
  claims: claims.beside,
  resources: resourceGrants(targets),
});

/** A signed-out browser is redirected to the sign-in page only, whatever is wrong with the request (RFC 9700 4.11.2, security R3). */
export function mayLearnErrors(
  { errorDelivery }: Pick<Config, 'errorDelivery'>,
  { prompts }: VerifiedRequest,
  session: Session | undefined,
): boolean {
  return session !== undefined || prompts.includes('none') || errorDelivery === 'standard';
}
