// Admits administrators to the console, to which they sign in as to any application: code flow, PKCE, and a client of the console's own.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { equalSecrets, randomId, randomSecret } from '../../crypto/secrets.ts';
import { multiFactor } from '../../oauth/acr.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { codeChallenge } from '../../oauth/pkce.ts';
import { splitScope } from '../../oauth/scope.ts';
import { isPermitted } from '../../entities/permission.ts';
import type { AppearanceService } from '../../domain/appearance/appearance.ts';
import { consoleClientId } from '../../rules/clients/console-client.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';
import type { FormOutcomes, Refused } from '../../browser/form-outcomes.ts';
import type { Refusal } from '../../oauth/refusals.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { internalCookie, single } from '../../browser/cookies.ts';
import { maxAuthAge, recentlyAuthenticated, lacksSecondFactor } from '../../browser/recent-sign-in.ts';
import { languagesOf } from '../../server/accept-language.ts';
import { clientAddress } from '../../server/network.ts';
import { accountView, type PageOptions as PageOptionsOfAll, type PageResponses } from '../../pages/page-response.ts';
import { singleValued, valueIn } from '../../server/parameters.ts';
import { type ConsoleFrame, type ConsoleSection, consoleSections, type KeptView } from '../../pages/views/console.ts';
import type { FormView, PageName, Pages } from '../../pages/views/index.ts';
import type { Config } from '../../config.ts';
import type { AccessToken } from '../../repositories/tokens/access-tokens.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { consoleCallback, consoleScope, createOwnClient } from './own-client.ts';
import { keptView } from './kept-by-files.ts';
import { withoutLanguage } from './links.ts';
import { createKeptForms, type KeptFormStore } from './kept-forms.ts';
import {
  type Administrator,
  demandPermission,
  type Operation,
  type OperationContext,
  type Runnable,
} from '../operations/operation.ts';
import { run } from '../operations/run.ts';
import { countToDecide } from '../operations/pages/clients.ts';
import { perform } from '../perform.ts';

export { consoleCallback, consoleClientId };

const requestLifetime = 30 * 60; // seconds
/** The maximum to which pending registrations and changes are counted. */
const maxPending = 1000;

type PageData<N extends ConsolePageName> = Omit<Pages[N], keyof ConsoleFrame>;
interface PageOptions {
  section: ConsoleSection;
  status?: number;
}

/** The permission that a page asks for before it shows or does anything: that of an operation which it runs, or whose form it shows. */
export type Needs = Pick<Operation, 'permission' | 'act'>;

/** An operation without required input needs none. */
type InputOf<I> = Record<never, never> extends I ? [input?: I] : [input: I];

/** A request of a signed-in administrator to a page of the console, with the functions that answer it. */
export interface AdminSession {
  session: Session;
  by: Administrator;
  request: FastifyRequest;
  reply: FastifyReply;
  /** Makes a form. @param shown the state that the page shows, such as a version: the form is valid for that state only */
  form(action: string, shown?: string): FormView;
  /** Makes a form whose act can be repeated on purpose: for once(), each page has another form. */
  repeatableForm(action: string): FormView;
  /** Sends a page in the console's frame. */
  send<N extends ConsolePageName>(name: N, data: PageData<N>, options: PageOptions): FastifyReply;
  /** Sends a page in the console's frame that shows the progress of an operation. @param steps the page at each step, and at the end */
  sendSteps<N extends ConsolePageName>(
    name: N,
    first: PageData<N>,
    steps: AsyncGenerator<PageData<N>, PageData<N>>,
    options: PageOptions,
  ): FastifyReply;
  /** Lets a form act once, also if a double click sends it twice. The result is what its page shows. */
  once: <T extends object>(act: () => Promise<T | Refused>) => Promise<T | Refused>;
  /** Runs an operation as this administrator. @throws OAuthError */
  run<P, I, R>(operation: Runnable<P, I, R>, params: P, ...input: InputOf<I>): Promise<R>;
  /** Runs an operation with what the administrator typed, as perform() does. */
  perform<P, I, R>(
    operation: Operation<P, I, R>,
    params: P,
    ...input: InputOf<I>
  ): Promise<{ done: R } | { refused: Refusal }>;
  /** Redirects the browser after an operation to a page that shows a notice. @param path may have a query */
  done(path: string, notice: string): FastifyReply;
}

/** The authorization request that the browser keeps in a sealed cookie until the response. */
interface SentRequest {
  state: string;
  verifier: string;
  /** The page that the administrator requested: path and query, below the base address. */
  path: string;
  /** Milliseconds since 1970. */
  at: number;
}

/** The pages of the console. */
export type ConsolePageName = { [N in PageName]: Pages[N] extends ConsoleFrame ? N : never }[PageName];

export type Console = ReturnType<typeof createConsole>;

export interface ConsoleDependencies {
  config: Config;
  store: KeptFormStore & { accessTokens: { find(hash: Buffer): Promise<AccessToken | undefined> } };
  operationContext: OperationContext;
  clients: ClientCache;
  secretBox: SecretBox;
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  pages: PageResponses;
  appearance: Pick<AppearanceService, 'current'>;
}

export function createConsole(options: ConsoleDependencies) {
  const { config, store, sessions, formOutcomes, secretBox, pages, operationContext } = options;
  const { issuer, basePath } = config;
  const tokenCookie = internalCookie('CONSOLE', issuer);
  /** Holds the pending authorization request, sealed. */
  const requestCookie = internalCookie('CONSOLE_REQUEST', issuer);
  const redirectUri = issuer + consoleCallback;
  const cookie = {
    httpOnly: true,
    sameSite: 'lax',
    secure: config.secureCookies,
    path: `${basePath}/admin`,
  } as const;
  const ensureClient = createOwnClient(options, operationContext.administration);
  const keptForms = createKeptForms({ store, secretBox, sessions, basePath });

  /** Redirects the browser to a sign-in that returns to `path`. @param demands further parameters of the authorization request */
  async function signIn(reply: FastifyReply, path: string, demands: Record<string, string> = {}): Promise<void> {
    // a request without an effect leaves this to the first sign-in
    if (reply.request.method !== 'HEAD') await ensureClient();
    const sent: SentRequest = { state: randomSecret(), verifier: randomSecret(), path, at: Date.now() };
    const sealed = secretBox.seal(JSON.stringify(sent), requestCookie).toString('base64url');
    reply.setCookie(requestCookie, sealed, { ...cookie, maxAge: requestLifetime });
    const parameters = new URLSearchParams({
      response_type: 'code',
      client_id: consoleClientId,
      redirect_uri: redirectUri,
      scope: consoleScope,
      state: sent.state,
      code_challenge: codeChallenge(sent.verifier),
      code_challenge_method: 'S256',
      ...demands,
    });
    pages.redirect(reply, `/authorize?${parameters}`);
  }

  /** Finds the authorization request of a response by its state, and removes it: it can be answered once. */
  async function takeRequest(request: FastifyRequest, reply: FastifyReply, state: string | undefined) {
    const sealed = single(request, requestCookie);
    reply.clearCookie(requestCookie, cookie);
    if (sealed === undefined || state === undefined) return undefined;
    let sent: SentRequest;
    try {
      const opened = secretBox.open(Buffer.from(sealed, 'base64url'), requestCookie);
      sent = JSON.parse(opened.toString()) as SentRequest;
    } catch {
      // forged, or encrypted with a key that is no longer in SECRET_KEY
      return undefined;
    }
    const isValid = equalSecrets(sent.state, state) && Date.now() - sent.at < requestLifetime * 1000;
    return isValid ? sent : undefined;
  }

  /** Whether the browser sent the access token that this session got for the console. */
  async function holdsToken(request: FastifyRequest, session: Session): Promise<boolean> {
    const value = single(request, tokenCookie);
    const hash = value === undefined ? undefined : opaqueTokenHash('access_token', value);
    const token = hash && (await store.accessTokens.find(hash));
    return (
      token !== undefined &&
      token.clientId === consoleClientId &&
      token.sid === session.sid &&
      // the console requests no resource, so a restricted token is not its own (security R115)
      token.restrictedTo === undefined &&
      splitScope(token.scope).includes('admin')
    );
  }

  /** Returns the admin session; undefined after a redirect to the sign-in, or after an error page for a user who is no administrator. */
  async function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    path: string,
    fresh: boolean,
    needs: Needs,
    form?: { csrf: string | undefined; action: string; shown?: string | undefined },
  ): Promise<AdminSession | undefined> {
    const session = await sessions.find(request, reply);
    if (session && !session.user.admin) {
      refuseUser(request, reply);
      return undefined;
    }
    const by = session && administratorOf(request, session);
    const [isSignedIn, pending] = by ? await Promise.all([holdsToken(request, session), countPending(by)]) : [false, 0];
    const isRecent = session !== undefined && (!fresh || recentlyAuthenticated(session));
    if (by && isSignedIn && isRecent) {
      demandPermission(needs, by);
      const kept = await keptView(operationContext, request, needs);
      if (kept && form && 'method' in needs && needs.method === 'DELETE') {
        pages.redirect(reply, `${kept.uri}&done=kept-by-files`);
        return undefined;
      }
      const finish = await keptForms.finisher(request, session);
      return adminSession(request, reply, session, by, { pending, kept, finish });
    }
    // only a form of the console itself is kept, in the browser that it was shown in
    const binding = form && { action: form.action, shown: form.shown, session };
    const isOwn =
      binding &&
      (sessions.isOwnForm(request, form.csrf, binding) || sessions.isEarlierForm(request, form.csrf, binding));
    const back = session && isOwn ? await keptForms.keep(request, session, form.action, path) : path;
    const level = session && lacksSecondFactor(session) && { acr_values: multiFactor };
    await signIn(reply, back, isSignedIn ? { max_age: String(maxAuthAge), ...level } : {});
    return undefined;
  }

  const administratorOf = (request: FastifyRequest, { user }: Session): Administrator => ({
    actor: user.sub,
    kind: 'administrator',
    address: clientAddress(request),
    languages: languagesOf(request),
  });

  /** How many clients wait for a decision; an administrator who may not decide about clients sees none. */
  const countPending = async (actor: Administrator): Promise<number> =>
    isPermitted(actor.kind, countToDecide.permission, countToDecide.act)
      ? run(countToDecide, operationContext, { params: maxPending + 1, input: {}, actor })
      : 0;

  const refuseUser = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    pages.send(request, reply, 'error', { kind: 'administrators', reference: '' }, { status: 403 });

  function adminSession(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    by: Administrator,
    { pending, kept, finish }: { pending: number; kept: KeptView | undefined; finish: PageOptionsOfAll['finish'] },
  ): AdminSession {
    const notice = request.method === 'GET' ? valueIn(request.query, 'done') : undefined;
    // a link could not show again what a form has answered
    const here = request.method === 'GET' ? { here: withoutLanguage(request.url.slice(basePath.length)) } : {};
    const framed = <N extends ConsolePageName>(data: PageData<N>, { section }: PageOptions) => {
      const frame: ConsoleFrame = {
        account: accountView(session.user),
        section,
        sections: consoleSections,
        pending: { count: Math.min(pending, maxPending), more: pending > maxPending },
        accountUri: '/account',
        logoutUri: '/logout',
      };
      if (kept) frame.kept = kept;
      if (notice !== undefined && /^[a-z-]{1,40}$/.test(notice)) frame.done = notice;
      // the compiler does not see that frame and data are all of a generic N
      return { ...frame, ...data } as unknown as Pages[N];
    };
    const form: AdminSession['form'] = (action, shown) => ({
      action,
      hidden: { csrf: sessions.formToken(request, reply, { action, session, shown }) },
    });
    return {
      session,
      by,
      request,
      reply,
      form,
      repeatableForm: (action) => ({ action, hidden: { ...form(action).hidden, page: randomId() } }),
      send: (name, data, options) =>
        pages.send(request, reply, name, framed(data, options), { status: options.status ?? 200, finish, ...here }),
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
      once: async (act) => {
        const result = await formOutcomes.once(request, act);
        return 'refused' in result ? result : result.made;
      },
      run: (operation, params, ...[input]) =>
        // an operation whose input may be left out takes an empty one
        run(operation, operationContext, { params, input: (input ?? {}) as never, actor: by }),
      perform: (operation, params, ...[input]) =>
        perform(operation, operationContext, { params, input: (input ?? {}) as never, actor: by }),
      done: (path, notice) => pages.redirect(reply, `${path}${path.includes('?') ? '&' : '?'}done=${notice}`),
    };
  }

  return {
    restoreSecrets: keptForms.restoreSecrets,
    /**
     * Admits a request of the console's own script, which no other site can send. It gets no page, and no redirect to a sign-in.
     * @throws OAuthError access_denied
     */
    async program(request: FastifyRequest, reply: FastifyReply): Promise<Pick<AdminSession, 'by' | 'run'>> {
      const session = await sessions.find(request, reply);
      const isOwn = (request.headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin';
      if (!isOwn || !session?.user.admin || !(await holdsToken(request, session)))
        throw new OAuthError('access_denied', 'sign in to the console', 403);
      const by = administratorOf(request, session);
      return {
        by,
        run: (operation, params, ...[input]) =>
          run(operation, operationContext, { params, input: (input ?? {}) as never, actor: by }),
      };
    },
    /**
     * Serves a page: `show` runs only for an administrator who is signed in. A browser without one is redirected to the sign-in, and another
     * user gets an error page.
     * @param options.needs what the page asks for, before it shows a form or reads
     * @param options.fresh whether the page needs a recent sign-in, so that an unattended browser does not show it
     */
    page(
      app: FastifyInstance,
      path: string,
      show: (admin: AdminSession, request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>,
      { needs, fresh = false, ...options }: { needs: Needs; fresh?: boolean } & RouteShorthandOptions,
    ): void {
      app.get(path, options, async (request, reply) => {
        onlyNavigation(request);
        const admin = await admit(request, reply, request.url.slice(basePath.length), fresh, needs);
        return admin ? show(admin, request, reply) : reply;
      });
    },
    /**
     * Returns the admin session of a form; undefined after an answer was sent, as with page().
     * @param form.back the page to which the administrator returns after a sign-in: path and query
     * @param form.needs what the form asks for
     * @param form.fresh whether the operation needs a recent sign-in, so that an unattended browser cannot perform it (security R91)
     * @throws OAuthError if the form is not one of the console's own
     */
    async submitted(
      request: FastifyRequest,
      reply: FastifyReply,
      form: {
        csrf: string | undefined;
        action: string;
        shown?: string | undefined;
        back: string;
        fresh?: boolean;
        needs: Needs;
      },
    ): Promise<AdminSession | undefined> {
      const admin = await admit(request, reply, form.back, form.fresh ?? false, form.needs, form);
      const { action, shown } = form;
      if (admin && !sessions.isOwnForm(request, form.csrf, { action, shown, session: admin.session }))
        throw invalidRequest('the form has expired or came from another site');
      return admin;
    },
    /**
     * Handles the authorization response: redeems the code and sets the token's cookie.
     * @param redeem sends the form to the token endpoint and returns the access token; undefined if the endpoint refuses
     * @throws OAuthError if this browser sent no such request
     */
    async completeSignIn(
      request: FastifyRequest,
      reply: FastifyReply,
      redeem: (form: Record<string, string>) => Promise<string | undefined>,
    ): Promise<FastifyReply> {
      onlyNavigation(request);
      const { code, state, iss } = singleValued(request.query);
      const sent = await takeRequest(request, reply, state);
      // RFC 9207 2.4
      if (!sent || iss !== issuer) throw invalidRequest('this response does not belong to a sign-in of this browser');
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
      if (token === undefined) throw invalidRequest('the sign-in failed: try again');
      reply.setCookie(tokenCookie, token, cookie);
      return pages.redirect(reply, sent.path);
    },
  };
}
