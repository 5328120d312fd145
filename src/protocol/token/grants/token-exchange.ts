// Exchanges a token of a user for an access token of the client, by a policy that an administrator wrote (RFC 8693, security R145).
import { z } from 'zod';
import type { ExchangePolicy } from '../../../entities/exchange-policies.ts';
import { preferredAcr } from '../../../oauth/acr.ts';
import { isBoundFor } from '../../../oauth/binding.ts';
import {
  invalidAuthorizationDetails,
  invalidRequest,
  invalidScope,
  invalidTarget,
  OAuthError,
  unauthorizedClient,
} from '../../../oauth/errors.ts';
import { tokenExchangeGrant as name } from '../../../oauth/registrable-values.ts';
import { isScope, splitScope } from '../../../oauth/scope.ts';
import { text } from '../../../oauth/text.ts';
import { type ActingParty, actorsOf, tokenTypes } from '../../../oauth/token-exchange.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import type { Store } from '../../../repositories/store.ts';
import type { ExchangeFailure } from '../../../repositories/tokens/token-exchange.ts';
import { typesOf } from '../../../rules/details/details.ts';
import {
  exchangedActors,
  exchangedScope,
  type ExchangeRefusal,
  policiesFor,
} from '../../../rules/exchange/exchange.ts';
import { formatOf } from '../../../sender-constraint/audience.ts';
import type { TokenService } from '../../../tokens/token-service.ts';
import { withLifetimeOf } from '../../../tokens/token-issuer.ts';
import { findTarget, type OfferedTarget } from '../exchange-target.ts';
import {
  beyondDetails,
  bindingRefusals,
  type GrantContext,
  type GrantType,
  type Refusal,
  type UserTokens,
} from '../grant-type.ts';
import { grantIdJag, type IdJagDependencies } from '../id-jag.ts';
import {
  type FoundActor,
  type FoundSubject,
  readActor,
  readSubject,
  type SubjectDependencies,
} from '../subject-token.ts';

/** What the service does not do is refused, and never left out: the client would get another token than it asked for (security R145). */
const unsupported = ['claims'] as const;

const parameters = z.object({
  subject_token: text(16_384),
  subject_token_type: text(255),
  requested_token_type: text(255).optional(),
  audience: text(512).optional(),
  scope: text(1024).optional(),
  actor_token: text(16_384).optional(),
  actor_token_type: text(255).optional(),
  claims: z.string().optional(),
});
type Parameters = z.infer<typeof parameters>;

const refusals: Record<Exclude<ExchangeRefusal, 'target'>, () => OAuthError> = {
  no_policy: () => unauthorizedClient('no policy lets this client exchange tokens: an administrator can create one'),
  subject: () =>
    invalidRequest('no policy of this client takes tokens of the client to which subject_token was issued'),
  audience: () => invalidRequest('subject_token was issued neither to this client nor for it'),
  scope: () => invalidScope('scope exceeds what subject_token, the policy and the resource have together'),
  unnamed: () => invalidRequest('the policy impersonates the user, and names no actor: leave actor_token out'),
  actors: () => invalidRequest('subject_token already names as many actors as a token may have'),
};

const failures: Record<Exclude<ExchangeFailure, 'proof'> | 'unknown', () => OAuthError> = {
  unknown: () => invalidRequest('subject_token is not valid any more'),
  ended: () => invalidRequest('the authorization of subject_token is no longer valid'),
  client: () => invalidRequest('the user of subject_token may not use this client'),
  policy: refusals.no_policy,
  resource: () => invalidTarget('the resource issues no tokens'),
  actor: () => invalidRequest('actor_token is not valid any more'),
  details: beyondDetails,
};

interface TokenExchangeDependencies {
  config: IdJagDependencies['config'];
  store: SubjectDependencies['store'] &
    IdJagDependencies['store'] &
    Pick<Store, 'exchangePolicies' | 'pairwiseSubjects' | 'resources' | 'tokenExchange'>;
  tokens: SubjectDependencies['tokens'] & IdJagDependencies['tokens'] & Pick<TokenService, 'now'>;
}

/** What the checks of a request found. */
interface Decided {
  policy: ExchangePolicy;
  target: OfferedTarget;
  scope: string[];
  act: ActingParty | undefined;
}

/** Refuses parameters that name what the service does not do. */
function checkParameters(given: Parameters): OAuthError | undefined {
  const named = unsupported.find((each) => given[each] !== undefined);
  if (named !== undefined) return invalidRequest(`this token exchange does not support ${named}: leave it out`);
  const { requested_token_type: type, scope, actor_token: actor, actor_token_type: actorType } = given;
  if ((actor === undefined) !== (actorType === undefined))
    return invalidRequest('actor_token and actor_token_type need each other');
  if (actor !== undefined && type === tokenTypes.idJag)
    return invalidRequest('an ID-JAG names no actor: leave actor_token out');
  if (type !== undefined && ![tokenTypes.accessToken, tokenTypes.jwt, tokenTypes.idJag].some((one) => one === type))
    return invalidRequest(`requested_token_type must be ${tokenTypes.accessToken} or ${tokenTypes.jwt}`);
  return scope !== undefined && !isScope(scope) ? invalidScope('scope must be a list of scope values') : undefined;
}

/** Whether the sign-in reaches the levels that the client and the resource demand. */
const reaches = ({ requiredAcr }: Client, { api }: OfferedTarget, { amr }: FoundSubject): boolean =>
  [requiredAcr, api?.requiredAcr].every((level) => level === undefined || preferredAcr([level], amr) !== undefined);

export function tokenExchangeGrant({ config, store, tokens }: TokenExchangeDependencies): GrantType<Parameters> {
  /** Decides by the policies of the client, before anything is stored. */
  async function decide(
    given: Parameters,
    { client, resource, proof }: GrantContext,
    subject: FoundSubject,
    actor: FoundActor | undefined,
  ): Promise<Decided | OAuthError> {
    const { clientId } = client;
    const scope = given.scope === undefined ? undefined : splitScope(given.scope);
    const request = { clientId, subject: subject.token, scope, actor: actor?.sub };
    const policies = policiesFor(await store.exchangePolicies.ofClient(clientId), request);
    if (typeof policies === 'string') return refusals[policies]();
    const found = await findTarget(store, config.issuer, policies, { resource, audience: given.audience });
    if (found instanceof OAuthError) return found;
    const { policy, target } = found;
    if (!reaches(client, target, subject))
      return invalidTarget('the resource or the client requires a stronger sign-in than that of subject_token');
    const granted = exchangedScope(request, policy, target.scope);
    if (granted === 'scope') return refusals.scope();
    const actors = exchangedActors(request, policy);
    if (typeof actors === 'string') return refusals[actors]();
    if (target.api && !isBoundFor(target.api.binding, proof?.binding ?? 'none')) return bindingRefusals.unbound();
    return { policy, target, scope: granted, act: actors.act };
  }

  /** The actor that the request names; undefined if the client itself acts. */
  async function actorOf(
    { actor_token: token, actor_token_type: type }: Parameters,
    { client: { clientId }, held }: GrantContext,
  ): Promise<FoundActor | OAuthError | undefined> {
    if (token === undefined || type === undefined) return undefined;
    return readActor({ store, tokens }, { token, type, held, clientId });
  }

  async function issue(
    given: Parameters,
    { client, address, details, proof, prepare }: GrantContext,
    subject: FoundSubject,
    actor: FoundActor | undefined,
    { policy, target, scope, act }: Decided,
  ): Promise<UserTokens | Refusal> {
    const { clientId, metadata } = client;
    const { sub } = subject.user;
    const format = formatOf(target, client);
    if (given.requested_token_type === tokenTypes.jwt && !format.jwt)
      return { refusal: invalidRequest('the resource takes no JWTs of this client: request an access token') };
    const prepared = withLifetimeOf(format, await prepare([]));
    const result = await store.tokenExchange.exchange({
      subject: subject.presented,
      actorHash: actor?.tokenHash,
      clientId,
      address: address(),
      policy,
      resourceId: target.api?.id,
      accessTokenHash: prepared.accessToken.hash,
      accessTokenLifetime: prepared.lifetimes.accessToken,
      scope: scope.join(' '),
      audience: target.audience,
      details,
      binding: prepared.bindings.binding,
      proof,
      exchange: {
        act,
        subject: await store.pairwiseSubjects.obtain(metadata, sub),
        acr: subject.acr,
        policy: policy.id,
      },
      now: tokens.now(),
    });
    const event = { clientId, sub } as const;
    if ('failure' in result) {
      const { failure } = result;
      if (failure !== 'proof') return { refusal: failures[failure]() };
      return { refusal: bindingRefusals.proof(), event: { ...event, type: 'dpop.replayed' } };
    }
    const granted = result.authorization.details;
    return {
      ...result,
      tokens: withLifetimeOf(result, prepared),
      authorization: {
        ...result.authorization,
        requested: subject.acr === undefined ? undefined : { acr: subject.acr },
      },
      refreshToken: undefined,
      jwt: format.jwt && { ...format.jwt, act },
      members: { issued_token_type: given.requested_token_type ?? tokenTypes.accessToken },
      event: {
        ...event,
        type: 'token.exchanged',
        detail: {
          exchange_policy: policy.name,
          mode: policy.mode,
          subject_client: subject.token.clientId,
          resource: target.audience[0] ?? undefined,
          scope: scope.join(' '),
          ...(granted && { authorization_details: typesOf(granted) }),
          actors: actorsOf(act),
          ...(actor && { actor: actor.sub }),
        },
      },
    };
  }

  return {
    name,
    asksNetwork: true,
    parameters,
    takesDetails: true,
    async authorize(given, context) {
      const wrong = checkParameters(given);
      if (wrong) return { refusal: wrong };
      const { subject_token: token, subject_token_type: type } = given;
      if (given.requested_token_type === tokenTypes.idJag && context.details)
        return { refusal: invalidAuthorizationDetails('an ID-JAG has no authorization_details: leave them out') };
      if (given.requested_token_type === tokenTypes.idJag)
        return config.idJag
          ? grantIdJag({ config, store, tokens }, given, context)
          : { refusal: invalidRequest('requested_token_type id-jag needs ID_JAG=on') };
      const subject = await readSubject({ store, tokens }, { token, type, held: context.held });
      if (subject instanceof OAuthError) return { refusal: subject };
      const actor = await actorOf(given, context);
      if (actor instanceof OAuthError) return { refusal: actor };
      const decided = await decide(given, context, subject, actor);
      return decided instanceof OAuthError ? { refusal: decided } : issue(given, context, subject, actor, decided);
    },
  };
}
