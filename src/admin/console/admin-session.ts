// Opens the console to administrators, who sign in through the service as to any application: code flow, PKCE, a client of its own.
import { isDeepStrictEqual } from 'node:util';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { equalSecrets, randomSecret } from '../../crypto/secrets.ts';
import { multiFactor } from '../../oauth/acr.ts';
import { parseClientMetadata } from '../../oauth/client-metadata.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { codeChallenge } from '../../oauth/pkce.ts';
import { splitScope } from '../../oauth/scope.ts';
import { isUniqueViolation } from '../../database/database.ts';
import { consoleClientId, createAdministration } from '../../domain/administration/administration.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { newCredentials } from '../../tokens/client-credentials.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { single } from '../../browser/cookies.ts';
import { maxAuthAge, recentlyAuthenticated, lacksSecondFactor } from '../../browser/recent-sign-in.ts';
import { clientAddress } from '../../server/network.ts';
import { accountView } from '../../pages/page-response.ts';
import { singleValued } from '../../server/parameters.ts';
import { type ConsoleFrame, type ConsoleSection, consoleSections } from '../../pages/views/console.ts';
import type { FormView, PageName, Pages } from '../../pages/views/index.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { Actor } from '../../repositories/audit/actor.ts';

export { consoleClientId };
export const consoleCallback = '/admin/callback';

const tokenCookie = 'GATEHOUSE_CONSOLE';
/** What waits for the answer to an authorization request. */
const requestCookie = 'GATEHOUSE_CONSOLE_REQUEST';
const requestLifetime = 30 * 60; // seconds
const scope = 'openid admin';

type PageData<N extends ConsolePageName> = Omit<Pages[N], keyof ConsoleFrame>;
interface PageOptions {
  section: ConsoleSection;
  status?: number;
}

/** An administrator at one of the console's pages, who is answered by it. */
export interface AdminSession {
  session: Session;
  by: Actor;
  request: FastifyRequest;
  reply: FastifyReply;
  /** @param shown what the page shows and the form is about, such as a version: the form is good for nothing else */
  form(action: string, shown?: string): FormView;
  /** Answers with a page in the console's frame. */
  send<N extends ConsolePageName>(name: N, data: PageData<N>, options: PageOptions): FastifyReply;
  /** Answers with a page in the console's frame that grows while work goes on. @param steps the page at each step, and at its end */
  sendSteps<N extends ConsolePageName>(
    name: N,
    first: PageData<N>,
    steps: AsyncGenerator<PageData<N>, PageData<N>>,
    options: PageOptions,
  ): FastifyReply;
  /** Sends the browser on after an operation, to a page that says what was done. @param path may have a query */
  done(path: string, notice: string): FastifyReply;
}

/** An authorization request that was sent, as the browser keeps it until the answer. */
interface SentRequest {
  state: string;
  verifier: string;
  /** Where the person wanted to go: path and query, below the base address. */
  path: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** The pages of the console. */
export type ConsolePageName = { [N in PageName]: Pages[N] extends ConsoleFrame ? N : never }[PageName];

export type Console = ReturnType<typeof createConsole>;

export interface ConsoleDependencies {
  config: Config;
  store: Store;
  clients: ClientCache;
  secretBox: SecretBox;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export function createConsole({ config, store, clients, sessions, secretBox, pages }: ConsoleDependencies) {
  const { issuer, basePath } = config;
  const redirectUri = issuer + consoleCallback;
  const cookie = {
    httpOnly: true,
    sameSite: 'lax',
    secure: config.secureCookies,
    path: `${basePath}/admin`,
  } as const;
  const administration = createAdministration(store);

  /** Makes the console's client, and makes it again what it has to be: the base address may be another one, or somebody changed it by SQL. */
  async function ensureClient(): Promise<void> {
    const known = await clients.find(consoleClientId);
    const by = { actor: 'service' };
    const metadata = parseClientMetadata(
      {
        client_name: 'Gatehouse console',
        // as instances of the version before make it, which let no web client have http on localhost
        application_type: new URL(issuer).protocol === 'http:' ? 'native' : 'web',
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        scope,
      },
      // its address is the service's own, whatever others may register
      { admin: true },
      { issuer },
    );
    if (!known) {
      const { stored } = newCredentials(secretBox, consoleClientId, metadata);
      const client = { clientId: consoleClientId, metadata, status: 'enabled', approvedBy: 'administrator' } as const;
      await administration.createClient(by, { ...client, firstParty: true, ...stored }).catch((error: unknown) => {
        // another request made it at the same time
        if (!isUniqueViolation(error)) throw error;
      });
    } else if (!isDeepStrictEqual(JSON.parse(JSON.stringify(metadata)), known.metadata)) {
      await administration.changeClient(by, consoleClientId, () => ({ metadata }));
    } else return;
    clients.forget(consoleClientId);
  }

  /** Sends the browser to sign in, and back to `path` afterwards. @param demands further parameters of the request */
  async function signIn(reply: FastifyReply, path: string, demands: Record<string, string> = {}): Promise<void> {
    await ensureClient();
    const sent: SentRequest = { state: randomSecret(), verifier: randomSecret(), path, at: Date.now() };
    const sealed = secretBox.seal(JSON.stringify(sent), requestCookie).toString('base64url');
    reply.setCookie(requestCookie, sealed, { ...cookie, maxAge: requestLifetime });
    const parameters = new URLSearchParams({
      response_type: 'code',
      client_id: consoleClientId,
      redirect_uri: redirectUri,
      scope,
      state: sent.state,
      code_challenge: codeChallenge(sent.verifier),
      code_challenge_method: 'S256',
      ...demands,
    });
    pages.redirect(reply, `/authorize?${parameters}`);
  }

  /** The request that the answer with this state belongs to; it is answered once. */
  async function sentRequest(request: FastifyRequest, reply: FastifyReply, state: string | undefined) {
    const sealed = single(request, requestCookie);
    reply.clearCookie(requestCookie, cookie);
    if (sealed === undefined || state === undefined) return undefined;
    let sent: SentRequest;
    try {
      const opened = secretBox.open(Buffer.from(sealed, 'base64url'), requestCookie);
      sent = JSON.parse(opened.toString()) as SentRequest;
    } catch {
      // not ours, or encrypted with a key that SECRET_KEY no longer holds
      return undefined;
    }
    const fits = equalSecrets(sent.state, state) && Date.now() - sent.at < requestLifetime * 1000;
    return fits ? sent : undefined;
  }

  /** Whether the browser brings the access token that this session got for the console. */
  async function holdsToken(request: FastifyRequest, session: Session): Promise<boolean> {
    const value = single(request, tokenCookie);
    const hash = value === undefined ? undefined : opaqueTokenHash('access_token', value);
    const token = hash && (await store.accessTokens.find(hash));
    return (
      token !== undefined &&
      token.clientId === consoleClientId &&
      token.sid === session.sid &&
      // the console itself names no resource (security R115)
      token.restrictedTo === undefined &&
      splitScope(token.scope).includes('admin')
    );
  }

  /** The session of an administrator; undefined once the browser was sent to sign in, or another user was told that this is not for them. */
  async function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    path: string,
    fresh: boolean,
  ): Promise<AdminSession | undefined> {
    const session = await sessions.find(request, reply);
    if (session && !session.user.admin) {
      forAdministrators(request, reply);
      return undefined;
    }
    if (!session || !(await holdsToken(request, session))) {
      await signIn(reply, path);
      return undefined;
    }
    if (fresh && !recentlyAuthenticated(session)) {
      const level = lacksSecondFactor(session) && { acr_values: multiFactor };
      await signIn(reply, path, { max_age: String(maxAuthAge), ...level });
      return undefined;
    }
    return adminSession(request, reply, session);
  }

  const forAdministrators = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    pages.send(request, reply, 'error', { kind: 'administrators', reference: '' }, { status: 403 });

  function adminSession(request: FastifyRequest, reply: FastifyReply, session: Session): AdminSession {
    const { done: notice } = request.method === 'GET' ? singleValued(request.query) : {};
    const framed = <N extends ConsolePageName>(data: PageData<N>, { section }: PageOptions) => {
      const frame: ConsoleFrame = {
        account: accountView(session.user),
        section,
        sections: consoleSections,
        accountUri: '/account',
        logoutUri: '/logout',
      };
      if (notice !== undefined && /^[a-z-]{1,40}$/.test(notice)) frame.done = notice;
      // the page's data but for the frame, and the frame: together all of it, which the compiler does not see of a generic N
      return { ...frame, ...data } as unknown as Pages[N];
    };
    return {
      session,
      by: { actor: session.user.sub, address: clientAddress(request) },
      request,
      reply,
      form: (action, shown) => ({
        action,
        hidden: { csrf: sessions.formToken(request, reply, { action, session, shown }) },
      }),
      send: (name, data, options) =>
        pages.send(request, reply, name, framed(data, options), { status: options.status ?? 200 }),
      sendSteps<N extends ConsolePageName>(
        name: N,
        first: PageData<N>,
        steps: AsyncGenerator<PageData<N>, PageData<N>>,
        options: PageOptions,
      ) {
        async function* pagesOfSteps(): AsyncGenerator<Pages[N], Pages[N]> {
          for (;;) {
            const next = await steps.next();
            if (next.done) return framed<N>(next.value, options);
            yield framed<N>(next.value, options);
          }
        }
        const { status = 200 } = options;
        return pages.sendSteps(request, reply, name, framed<N>(first, options), pagesOfSteps(), { status });
      },
      done: (path, notice) => pages.redirect(reply, `${path}${path.includes('?') ? '&' : '?'}done=${notice}`),
    };
  }

  return {
    /**
     * The administrator who opens a page; undefined after an answer was sent: to sign in and come back, or that it is for administrators.
     * @param demands.fresh for a page that shows what must not be seen in a browser that was left open
     * @throws OAuthError for a request that is no navigation
     */
    enter(
      request: FastifyRequest,
      reply: FastifyReply,
      demands: { fresh?: boolean } = {},
    ): Promise<AdminSession | undefined> {
      onlyNavigation(request);
      return admit(request, reply, request.url.slice(basePath.length), demands.fresh ?? false);
    },
    /**
     * The administrator who sent a form from our own page; undefined after an answer was sent, as with enter().
     * @param form.back the page that the administrator comes back to after a sign-in, path and query
     * @param form.fresh for an operation that must not be done from a browser that was left open (security R91)
     * @throws OAuthError for a form that is not ours
     */
    async submitted(
      request: FastifyRequest,
      reply: FastifyReply,
      form: { csrf: string | undefined; action: string; shown?: string | undefined; back: string; fresh?: boolean },
    ): Promise<AdminSession | undefined> {
      const admin = await admit(request, reply, form.back, form.fresh ?? false);
      const { action, shown } = form;
      if (admin && !sessions.isOwnForm(request, form.csrf, { action, shown, session: admin.session }))
        throw invalidRequest('the form is too old or came from elsewhere');
      return admin;
    },
    /**
     * Takes the answer to an authorization request.
     * @param redeem asks the token endpoint; undefined when it refuses
     * @throws OAuthError when it is no answer to a request of this browser
     */
    async answered(
      request: FastifyRequest,
      reply: FastifyReply,
      redeem: (form: Record<string, string>) => Promise<string | undefined>,
    ): Promise<FastifyReply> {
      onlyNavigation(request);
      const { code, state, iss } = singleValued(request.query);
      const sent = await sentRequest(request, reply, state);
      // RFC 9207 2.4
      if (!sent || iss !== issuer) throw invalidRequest('this is no answer to a sign-in of this browser');
      const token =
        code === undefined
          ? undefined
          : await redeem({
              grant_type: 'authorization_code',
              client_id: consoleClientId,
              redirect_uri: redirectUri,
              code,
              code_verifier: sent.verifier,
            });
      if (token === undefined) throw invalidRequest('the sign-in came to nothing: try again');
      reply.setCookie(tokenCookie, token, cookie);
      return pages.redirect(reply, sent.path);
    },
  };
}
