// Decides about a request to a protected site: allowed, to be signed in, or denied. Only a verified session of this moment is allowed (federation FR43).
import type { FastifyRequest } from 'fastify';
import { single } from '../../browser/cookies.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { preferredAcr } from '../../oauth/acr.ts';
import { isWithin } from '../../rules/access/networks.ts';
import { assertionHeader, identityOf } from '../../rules/sites/identity-headers.ts';
import {
  isNavigation,
  isOpenPath,
  type OriginalRequest,
  type ProxyKind,
  readOriginal,
} from '../../rules/sites/original-request.ts';
import type { Site, SiteSession } from '../../repositories/sites/sites.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress } from '../../server/network.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { Verdict } from './answers.ts';
import { setCookie, signInCookie } from './cookies.ts';
import { createSiteLookup, type SiteLookupDependencies } from './proxies.ts';
import { browserOf, signInAddress } from './sign-in-state.ts';

export interface VerdictDependencies extends SiteLookupDependencies {
  config: SiteLookupDependencies['config'] & { issuer: string };
  store: Pick<Store, 'sites' | 'sessions'>;
  secretBox: SecretBox;
  tokens: Pick<TokenService, 'siteAssertion'>;
}

/** @param target for Envoy, the target below the path of the endpoint */
export type Decide = (request: FastifyRequest, kind: ProxyKind, target?: string) => Promise<Verdict>;

const refused = (reason: string): Verdict => ({ denied: 403, reason });

export function createVerdict(options: VerdictDependencies): Decide {
  const { config, store, secretBox, tokens } = options;
  const findSite = createSiteLookup(options);

  async function allow(
    request: FastifyRequest,
    original: OriginalRequest,
    site: Site,
    session: SiteSession,
  ): Promise<Verdict> {
    // a wrong network cannot sign in anew: a redirect would lead here again
    if (site.networks.length > 0 && !isWithin(site.networks, clientAddress(request)))
      return refused('the browser is in no network of the site');
    // the site may demand more since: the sign-in asks for what is missing
    if (site.requiredAcr !== undefined && preferredAcr([site.requiredAcr], session.amr) === undefined)
      return signIn(request, original, site);
    if (session.stale) await store.sessions.touch(session.id, config.lifetimes.sessionIdle);
    const { name } = session.claims;
    const user = {
      username: session.username,
      email: session.emailVerified ? session.email : undefined,
      name: typeof name === 'string' && name !== '' ? name : undefined,
      groups: session.groups,
    };
    const allowed = identityOf(user, site.headers);
    if (site.headers.includes(assertionHeader))
      allowed[assertionHeader] = await tokens.siteAssertion({
        host: original.host,
        sub: session.subject,
        sid: session.sid,
        authTime: session.authTime,
        amr: session.amr,
        claims: claimsOf(user, allowed),
      });
    return { allowed };
  }

  function signIn(request: FastifyRequest, original: OriginalRequest, { clientId }: Site): Verdict {
    const { headers } = request;
    const fetched = {
      mode: textOf(headers['sec-fetch-mode']),
      destination: textOf(headers['sec-fetch-dest']),
      accept: headers.accept,
    };
    if (!isNavigation(original, fetched)) return { denied: 401 };
    const browser = browserOf(single(request, signInCookie));
    const location = signInAddress(secretBox, config.issuer, { host: original.host, clientId, browser }, original);
    return { signIn: { location, cookie: setCookie(signInCookie, browser) } };
  }

  return async (request, kind, target = '') => {
    const { rawHeaders } = request.raw;
    const original = readOriginal(kind, { method: request.method, target, rawHeaders });
    if (!original) return refused('the headers of the proxy are not understood');
    const site = await findSite(request, original.host);
    if (!site) return refused('the host is not protected here, or the sender is no proxy of it');
    if (isOpenPath(site.openPaths, original.path)) return { allowed: {} };
    return site.session ? allow(request, original, site, site.session) : signIn(request, original, site);
  };
}

const textOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : undefined;

/** The claims of the assertion: what the headers of the site say. */
function claimsOf(
  user: { username: string; email: string | undefined; name: string | undefined; groups: readonly string[] },
  headers: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const claims: [string, string, unknown][] = [
    ['remote-user', 'preferred_username', user.username],
    ['remote-groups', 'groups', user.groups],
    ['remote-email', 'email', user.email],
    ['remote-name', 'name', user.name],
  ];
  return Object.fromEntries(claims.flatMap(([header, claim, value]) => (header in headers ? [[claim, value]] : [])));
}
