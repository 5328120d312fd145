// Collects the facts about an authorization request and its browser, from which the policy decides the next step.
import type { Passkeys } from '../../authenticators/passkey/passkeys.ts';
import type { ConnectionRouting } from '../../authenticators/connection/routing.ts';
import type { Config } from '../../config.ts';
import {
  type Asked,
  cameForNothing,
  decide,
  type Facts,
  type NextStep,
  wantsPasskey,
} from '../../interaction/next-step.ts';
import { mayUse, wayOf } from '../../rules/access/access.ts';
import { isServiceScopeOf } from '../../oauth/scope.ts';
import { sectorIdentifier } from '../../oauth/subject-type.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { SignInContext } from '../../repositories/sessions/sign-in-context.ts';
import type { Store } from '../../repositories/store.ts';
import { resourceGrants } from '../../sender-constraint/audience.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { TrustedRequest } from './trusted-request.ts';

export interface DecisionDependencies {
  config: Config;
  store: Pick<Store, 'pairwiseSubjects' | 'passkeys'>;
  clients: ClientCache;
  tokens: TokenService;
  passkeys: Passkeys;
  connectionRouting: Pick<ConnectionRouting, 'takesPasswordOf'>;
}

export function createDecision({ config, store, clients, tokens, passkeys, connectionRouting }: DecisionDependencies) {
  /**
   * The subjects that an id_token_hint names; undefined if it is not an ID Token of this issuer. A hint of another sector names no user
   * of this client: otherwise two clients would learn that they know the same user.
   */
  async function hintedSubjects({ client }: TrustedRequest, idTokenHint: string): Promise<string[] | undefined> {
    const hint = await tokens.readIdTokenHint(idTokenHint);
    if (!hint) return undefined;
    const issuedTo = await clients.find(hint.clientId);
    const sameSector = issuedTo && sectorIdentifier(issuedTo.metadata) === sectorIdentifier(client.metadata);
    return sameSector ? [hint.sub] : [];
  }

  /** The users that the client expects: the session's user, if every list has the client's subject of that user. */
  async function expectedSubs(
    { client }: TrustedRequest,
    lists: string[][],
    session: Session | undefined,
  ): Promise<string[] | undefined> {
    if (lists.length === 0) return undefined;
    const subject = session && (await store.pairwiseSubjects.find(client.metadata, session.user.sub));
    return subject !== undefined && lists.every((names) => names.includes(subject)) ? [session!.user.sub] : [];
  }

  /** The fact about passkeys, which costs a statement only if the decision depends on it. */
  async function passkeysOf(facts: Omit<Facts, 'passkeys'>, asked: Asked): Promise<Facts['passkeys']> {
    if (!passkeys.available || !facts.session || !wantsPasskey(facts, asked)) return 'unavailable';
    return (await store.passkeys.list(facts.session.user.sub)).length > 0 ? 'some' : 'none';
  }

  /** Whether a password signs the user in to the client; a passkey is a second factor. It is read only after a trip that freshened nothing. */
  async function signsInHere(
    facts: Pick<Facts, 'session' | 'transaction'>,
    { client }: TrustedRequest,
    session: Session | undefined,
  ): Promise<boolean> {
    if (!session || !cameForNothing(facts) || client.connections.length > 0) return false;
    return connectionRouting.takesPasswordOf(session.user);
  }

  return async (
    request: TrustedRequest,
    { session, grant }: Pick<SignInContext, 'session' | 'grant'>,
    transaction: Facts['transaction'],
    address: string | undefined,
  ): Promise<NextStep> => {
    const named = request.subjects ? [request.subjects] : [];
    if (request.idTokenHint !== undefined) {
      const hinted = await hintedSubjects(request, request.idTokenHint);
      if (!hinted) {
        if (!mayLearnErrors(config, request, session)) return { step: 'login' };
        const description = 'id_token_hint is not an ID Token of this issuer';
        return { step: 'error', code: 'invalid_request', description };
      }
      named.push(hinted);
    }
    const asked: Asked = {
      prompts: request.prompts,
      maxAge: request.maxAge,
      needsAuthTime: request.needsAuthTime,
      expectedSubs: await expectedSubs(request, named, session),
      scope: request.scope.filter(isServiceScopeOf(request.client)),
      resources: resourceGrants(request.targets),
      resourceAcrs: request.targets.flatMap(({ api }) => api?.requiredAcr ?? []),
      claims: request.claims.beside,
      redirectUri: request.registeredUri,
      acr: request.acr,
    };
    const { firstParty, approvedBy, requiredAcr } = request.client;
    const facts = {
      session,
      grant,
      client: { firstParty, selfRegistered: approvedBy === 'automatic', requiredAcr },
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

/** A signed-out browser is redirected to the sign-in page only, whatever is wrong with the request (RFC 9700 4.11.2, security R3). */
export function mayLearnErrors(
  { errorDelivery }: Pick<Config, 'errorDelivery'>,
  { prompts }: TrustedRequest,
  session: Session | undefined,
): boolean {
  return session !== undefined || prompts.includes('none') || errorDelivery === 'standard';
}
