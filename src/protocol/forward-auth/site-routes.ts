// Serves the addresses that a protected site has at its own host: the callback of a sign-in, and the sign-out (federation 13).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { single } from '../../browser/cookies.ts';
import { digest, randomSecret } from '../../crypto/secrets.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { profileOf } from '../../oauth/fapi2.ts';
import { codeChallenge } from '../../oauth/pkce.ts';
import { text } from '../../oauth/text.ts';
import { callbackOf, callbackPath, firstPageOf, signOutPath } from '../../rules/sites/addresses.ts';
import type { NotedUses } from '../../repositories/uses/noted-uses.ts';
import type { Site } from '../../repositories/sites/sites.ts';
import type { Store } from '../../repositories/store.ts';
import { jsonErrors, noStore } from '../../server/errors.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { newOpaqueToken, opaqueTokenHash } from '../../tokens/opaque-token.ts';
import { eventOfRefusedCode } from '../../tokens/refused-code.ts';
import { z } from 'zod';
import { clearCookie, setCookie, signInCookie, siteCookie } from './cookies.ts';
import { cookieHash, createSiteLookup, type SiteLookupDependencies } from './proxies.ts';
import { readState } from './sign-in-state.ts';

/** The paths of the pages of this service to which a site sends its users. */
export const expiredPath = '/forward-auth/expired';
export const signedOutPath = '/forward-auth/signed-out';

const answered = z.object({ code: text(512).optional(), state: text(8192).optional(), error: text(100).optional() });

/** Seconds of the access token that comes with a code: no one holds it. */
const unusedLifetime = 1;
/** A site has no profile of its own. */
const { retrySeconds } = profileOf({});

interface SiteRoutesDependencies extends SiteLookupDependencies {
  config: SiteLookupDependencies['config'] & { issuer: string };
  store: Pick<Store, 'sites' | 'authorizationCodes'>;
  secretBox: SecretBox;
  audit: AuditTrail;
  uses: NotedUses;
}

export async function siteEndpoints(app: FastifyInstance, options: SiteRoutesDependencies): Promise<void> {
  const { config, store, secretBox, audit, uses } = options;
  const findSite = createSiteLookup(options);
  app.setErrorHandler(jsonErrors);

  /** The site of the host that the request names. @throws OAuthError access_denied */
  async function siteOf(request: FastifyRequest): Promise<{ host: string; site: Site }> {
    const host = request.headers.host ?? '';
    const site = await findSite(request, host);
    if (site) return { host, site };
    throw new OAuthError('access_denied', 'the host is not protected here, or the sender is no proxy of it', 403);
  }

  app.get(callbackPath, async (request, reply) => {
    const { host, site } = await siteOf(request);
    const { code = '', state = '', error } = readParameters(answered, singleValued(request.query));
    const browser = single(request, signInCookie) ?? '';
    const signIn = readState(secretBox, { host, clientId: site.clientId, browser }, state);
    if (!signIn) return leave(reply, config.issuer + expiredPath);
    // a page has told the user why: the site begins anew, without an address that the answer names
    if (error === 'access_denied') return leave(reply, firstPageOf(host));
    const asked = `https://${host}${signIn.target}`;
    const redeemed = await redeem(request, site, host, code, signIn.verifier);
    // the browser has the cookie of the first answer; if this answer was lost, the site begins anew
    if (redeemed === 'repeated') return leave(reply, asked);
    const { token, hash } = newOpaqueToken('site_session');
    const stored = redeemed && (await store.sites.insertSession(hash, redeemed.id, host, site.sessionLifetime));
    if (!stored) return leave(reply, config.issuer + expiredPath);
    uses.note('clients', site.clientId);
    // the other cookie stays: another window may be at its sign-in
    reply.header('set-cookie', setCookie(siteCookie, token));
    return leave(reply, asked);
  });

  app.get(signOutPath, async (request, reply) => {
    const { host, site } = await siteOf(request);
    // a page of another site ends nothing
    if (request.headers['sec-fetch-site'] === 'cross-site') return leave(reply, firstPageOf(host));
    const hash = cookieHash(request);
    const ended = hash && (await store.sites.endSession(hash, host));
    if (ended) {
      const { sub, clientId } = ended;
      await audit(request, { type: 'client_session.ended', outcome: 'success', actor: sub, sub, clientId });
    }
    reply.header('set-cookie', [clearCookie(siteCookie), clearCookie(signInCookie)]);
    const parameters = new URLSearchParams({ client_id: site.clientId });
    return leave(reply, `${config.issuer}${signedOutPath}?${parameters.toString()}`);
  });

  /** Redeems the code as a client does. @returns the client session; `repeated` within seconds of the redemption; undefined if the code is not redeemed */
  async function redeem(
    request: FastifyRequest,
    { clientId }: Site,
    host: string,
    code: string,
    verifier: string,
  ): Promise<{ id: string } | 'repeated' | undefined> {
    const codeHash = opaqueTokenHash('authorization_code', code);
    if (!codeHash) return undefined;
    const redeemed = await store.authorizationCodes.redeem({
      codeHash,
      clientId,
      redirectUri: callbackOf(host),
      codeChallenge: codeChallenge(verifier),
      accessTokenHash: digest('access_token', randomSecret()),
      refreshTokenHash: undefined,
      handleHash: undefined,
      binding: 'none',
      refreshTokenBinding: 'none',
      handleBinding: 'none',
      proof: undefined,
      resource: undefined,
      retrySeconds,
      accessTokenLifetime: unusedLifetime,
      refreshTokenLifetime: unusedLifetime,
      refreshTokenAbsoluteLifetime: unusedLifetime,
    });
    if (!('failure' in redeemed)) return { id: redeemed.authorization.clientSessionId };
    const event = eventOfRefusedCode(redeemed);
    if (event) await audit(request, { ...event, outcome: 'failure', actor: clientId });
    return redeemed.failure === 'retried' ? 'repeated' : undefined;
  }
}

const leave = (reply: FastifyReply, location: string): FastifyReply => noStore(reply).redirect(location, 303);
