// Grants an access token for the user of an assertion that a trusted issuer signed (RFC 7523 2.1, security R146).
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import { digest, randomSecret } from '../../../crypto/secrets.ts';
import type { TrustedIssuer } from '../../../entities/trusted-issuers.ts';
import { isBoundFor } from '../../../oauth/binding.ts';
import { invalidGrant, invalidScope, invalidTarget, OAuthError } from '../../../oauth/errors.ts';
import { jwtBearerGrant as name } from '../../../oauth/registrable-values.ts';
import { resourceKey } from '../../../oauth/resource-key.ts';
import { isScope, splitScope } from '../../../oauth/scope.ts';
import { text } from '../../../oauth/text.ts';
import { idJagLifetime, idJagType } from '../../../oauth/token-exchange.ts';
import { FetchRefused } from '../../../outbound/guarded-fetch.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import type { Store } from '../../../repositories/store.ts';
import type { AssertionFailure } from '../../../repositories/tokens/assertion-grants.ts';
import { domainOf, isOfDomains } from '../../../rules/connections/mail-domain.ts';
import { formatOf } from '../../../sender-constraint/audience.ts';
import type { ClientKeys } from '../../../tokens/client-keys.ts';
import {
  type GrantAssertion,
  GrantAssertionRefused,
  issuerOf,
  verifyGrantAssertion,
} from '../../../tokens/grant-assertion.ts';
import { withLifetimeOf } from '../../../tokens/token-issuer.ts';
import type { TokenService } from '../../../tokens/token-service.ts';
import { findTarget, type OfferedTarget } from '../exchange-target.ts';
import { bindingRefusals, type GrantContext, type GrantType, type Refusal, type UserTokens } from '../grant-type.ts';

const parameters = z.object({ assertion: text(16_384), scope: text(1024).optional() });

/** By how much the clocks of issuer and service may differ, so that an assertion is remembered as long as it is accepted. */
const remembered = 60; // seconds

const untrusted = () => invalidGrant('the issuer of the assertion is not trusted for this client');
const failures: Record<Exclude<AssertionFailure, 'proof'> | 'unknown', () => OAuthError> = {
  unknown: untrusted,
  issuer: untrusted,
  user: () => invalidGrant('the assertion names no user of this service'),
  ended: () => invalidGrant('the user of the assertion may not use this client now'),
  resource: () => invalidTarget('the resource issues no tokens'),
  replayed: () => invalidGrant('the assertion was already used'),
};

/** The resource and the scopes of an ID-JAG, which has them as texts. */
function limitsOf({ resource, scope }: GrantAssertion['claims']): { resource?: string; scope?: string[] } | OAuthError {
  const [named, ...others] = [resource ?? []].flat() as unknown[];
  if (others.length > 0 || (named !== undefined && typeof named !== 'string'))
    return invalidGrant('the assertion is not for one resource');
  if (scope !== undefined && typeof scope !== 'string') return invalidGrant('the scope of the assertion is no text');
  return { ...(named !== undefined && { resource: named }), ...(scope !== undefined && { scope: splitScope(scope) }) };
}

interface JwtBearerDependencies {
  config: Pick<Config, 'issuer' | 'idJag'>;
  store: Pick<Store, 'assertionGrants' | 'pairwiseSubjects' | 'resources' | 'trustedIssuers' | 'users'>;
  tokens: Pick<TokenService, 'now'>;
  issuerKeys: ClientKeys;
}

export function jwtBearerGrant({
  config,
  store,
  tokens,
  issuerKeys,
}: JwtBearerDependencies): GrantType<z.infer<typeof parameters>> {
  /** The assertion and its issuer, which is trusted for the client. */
  async function verified(
    assertion: string,
    { clientId }: Client,
  ): Promise<{ issuer: TrustedIssuer; verified: GrantAssertion } | OAuthError> {
    const named = issuerOf(assertion);
    const issuer = named === undefined || named.includes('\0') ? undefined : await store.trustedIssuers.byIssuer(named);
    // a client does not sign for itself
    if (!issuer || !issuer.clients.includes(clientId) || issuer.issuer === clientId) return untrusted();
    const { jwks, jwksUri: jwks_uri } = issuer;
    const isJag = issuer.kind === 'id_jag';
    if (isJag && !config.idJag) return untrusted();
    const metadata = { ...(jwks && { jwks }), ...(jwks_uri !== undefined && { jwks_uri }) };
    try {
      const expected = {
        issuer: issuer.issuer,
        audiences: [config.issuer, `${config.issuer}/token`],
        algorithms: issuer.algorithms,
        maxLifetime: isJag ? Math.min(issuer.maxLifetime, idJagLifetime) : issuer.maxLifetime,
        typ: isJag ? idJagType : undefined,
        now: tokens.now(),
      };
      const keys = (fresh: boolean) => issuerKeys(metadata, fresh);
      const checked = await verifyGrantAssertion(assertion, keys, expected);
      // issued to another client: this one has found or stolen it
      if (isJag && checked.claims['client_id'] !== clientId)
        return invalidGrant('the assertion was issued to another client');
      return { issuer, verified: checked };
    } catch (error) {
      if (error instanceof GrantAssertionRefused) return invalidGrant(`the assertion is not valid: ${error.message}`);
      if (error instanceof FetchRefused)
        return new OAuthError('invalid_grant', 'the keys of the issuer could not be read', 400, { cause: error });
      throw error;
    }
  }

  /** The user whom the issuer may name: linked on purpose, or by an address of its domains that is confirmed for certain; never by a user name. */
  async function userOf(issuer: TrustedIssuer, { subject, email }: GrantAssertion): Promise<string | undefined> {
    if (subject.includes('\0')) return undefined;
    if (issuer.subject === 'linked') return store.trustedIssuers.linkedUser(issuer, subject);
    const domain = email === undefined || email.includes('\0') ? undefined : domainOf(email);
    if (domain === undefined || !isOfDomains(domain, issuer.emailDomains, false)) return undefined;
    const user = await store.users.findByEmail(email!);
    // a stranger may have caused the word of another system (security R156)
    return user?.confirmedBy === undefined || user.confirmedBy === 'word' ? undefined : user.sub;
  }

  async function targetFor(
    issuer: TrustedIssuer,
    { client, resource, held }: GrantContext,
    scope: string | undefined,
    { claims }: GrantAssertion,
  ): Promise<{ target: OfferedTarget; scope: string[] } | OAuthError> {
    if (scope !== undefined && !isScope(scope)) return invalidScope('scope must be a list of scope values');
    // an ID-JAG is for one resource and for its scopes
    const limits = issuer.kind === 'id_jag' ? limitsOf(claims) : {};
    if (limits instanceof OAuthError) return limits;
    if (
      limits.resource !== undefined &&
      resource !== undefined &&
      resourceKey(resource) !== resourceKey(limits.resource)
    )
      return invalidTarget('the assertion is for another resource');
    const wanted = { resource: resource ?? limits.resource, audience: undefined };
    const found = await findTarget(store, config.issuer, [issuer], wanted);
    // the assertion names it, and not the request
    if (found instanceof OAuthError)
      return resource === undefined && limits.resource !== undefined
        ? invalidGrant('the assertion is for an unknown resource')
        : found;
    const { target } = found;
    const allowed = issuer.scopes.filter(
      (value) => target.scope.includes(value) && (limits.scope === undefined || limits.scope.includes(value)),
    );
    const asked = scope === undefined ? allowed : splitScope(scope);
    if (asked.length === 0 || asked.some((value) => !allowed.includes(value)))
      return invalidScope('scope exceeds what the issuer and the resource have together');
    // the user did not sign in here
    if (client.requiredAcr !== undefined || target.api?.requiredAcr !== undefined)
      return invalidTarget('the resource or the client requires a sign-in at this service');
    if (target.api && !isBoundFor(target.api.binding, held)) return bindingRefusals.unbound();
    return { target, scope: [...new Set(asked)] };
  }

  async function issue(
    { client, address, proof, prepare }: GrantContext,
    { issuer, verified: assertion }: { issuer: TrustedIssuer; verified: GrantAssertion },
    sub: string,
    { target, scope }: { target: OfferedTarget; scope: string[] },
  ): Promise<UserTokens | Refusal> {
    const { clientId, metadata } = client;
    const format = formatOf(target, client);
    const prepared = withLifetimeOf(
      { accessTokenLifetime: issuer.maxLifetime },
      withLifetimeOf(format, await prepare([])),
    );
    const result = await store.assertionGrants.grant({
      issuer,
      jtiHash: digest('jti', assertion.jti),
      assertionSeconds: Math.ceil((assertion.expiresAt.getTime() - tokens.now().getTime()) / 1000) + remembered,
      sub,
      clientId,
      address: address(),
      resourceId: target.api?.id,
      accessTokenHash: prepared.accessToken.hash,
      accessTokenLifetime: prepared.lifetimes.accessToken,
      scope: scope.join(' '),
      audience: target.audience,
      subject: await store.pairwiseSubjects.obtain(metadata, sub),
      sid: randomSecret(),
      binding: prepared.bindings.binding,
      proof,
    });
    const detail = { trusted_issuer: issuer.name, resource: target.audience[0] ?? undefined, scope: scope.join(' ') };
    const event = { clientId, sub, detail } as const;
    if ('failure' in result) {
      const { failure } = result;
      if (failure === 'proof') return { refusal: bindingRefusals.proof(), event: { ...event, type: 'dpop.replayed' } };
      const refusal = failures[failure]();
      return failure === 'replayed' ? { refusal, event: { ...event, type: 'assertion.replayed' } } : { refusal };
    }
    return {
      ...result,
      tokens: prepared,
      refreshToken: undefined,
      jwt: format.jwt,
      event: { ...event, type: 'assertion.accepted' },
    };
  }

  return {
    name,
    asksNetwork: true,
    parameters,
    async authorize({ assertion, scope }, context) {
      const trusted = await verified(assertion, context.client);
      if (trusted instanceof OAuthError) return { refusal: trusted };
      const sub = await userOf(trusted.issuer, trusted.verified);
      if (sub === undefined) return { refusal: failures.user() };
      const target = await targetFor(trusted.issuer, context, scope, trusted.verified);
      return target instanceof OAuthError ? { refusal: target } : issue(context, trusted, sub, target);
    },
  };
}
