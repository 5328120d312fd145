// Manages a browser's session and cookies, and the anti-forgery tokens of its forms (security R55, R56).
import { isIP } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { digest, equalSecrets, randomSecret } from '../crypto/secrets.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { NewSession, Session, UpstreamSession } from '../repositories/sessions/sessions.ts';
import type { NewSignIn } from '../repositories/sessions/sign-ins.ts';
import type { Store } from '../repositories/store.ts';
import type { SignInContext } from '../repositories/sessions/sign-in-context.ts';
import { newOpaqueToken, opaqueTokenHash } from '../tokens/opaque-token.ts';
import { OAuthError } from '../oauth/errors.ts';
import { createBrowserState } from './op-browser-state.ts';
import { all, internalCookie, isFramed, issuerTag, single } from './cookies.ts';
import { clientAddress } from '../server/network.ts';
import { singleValued } from '../server/parameters.ts';

/** Milliseconds between two looks for the session that the first request of a double click is about to store, and how many there are. */
const look = { every: 50, most: 40 };

/** How many characters are stored: enough to name the browser. */
const maxUserAgent = 200;

export interface BrowserSessionOptions {
  store: Store;
  secretBox: SecretBox;
  issuer: string;
  basePath: string;
  secure: boolean;
  /** The name of the session's cookie. */
  sessionCookie: string;
  /** In seconds. */
  idleLifetime: number;
  lifetime: number;
  /** Of a session whose user stays signed in; undefined if none may. */
  rememberedLifetime: number | undefined;
  /** How many sessions a user may have; 0 for no limit. */
  perUser: number;
}

/** The page that an anti-forgery token is bound to. */
export interface FormBinding {
  /** The form's address, e.g. "/login". */
  action: string;
  transaction?: string | undefined;
  session?: Session | undefined;
  /** What the page showed, and the form therefore confirms. */
  shown?: string | undefined;
}

/** A user whose factors were verified. */
type Verified = Pick<NewSession, 'sub' | 'passwordHash' | 'amr' | 'authTime' | 'sparing'> & {
  upstream?: (UpstreamSession & { lifetime?: number | undefined }) | undefined;
  /** Whether the user chose to stay signed in. */
  remember?: boolean | undefined;
};

export type BrowserSessions = ReturnType<typeof createBrowserSessions>;

export function createBrowserSessions(options: BrowserSessionOptions) {
  const { store, secretBox, sessionCookie } = options;
  // another issuer on this host may use the same name
  const tag = `${issuerTag(options.issuer)}.`;
  /** Identifies a browser without a session: pending requests and forms are bound to it. */
  const browserCookie = internalCookie('BROWSER', options.issuer);
  const { origin, hostname: host } = new URL(options.issuer);
  // set and cleared with the same attributes (security R50, R69)
  const cookie: CookieSerializeOptions = {
    httpOnly: true,
    sameSite: 'lax',
    secure: options.secure,
    path: options.basePath || '/',
  };

  const browserState = createBrowserState(options);

  const browserIdOf = (request: FastifyRequest): string | undefined => {
    const value = single(request, browserCookie);
    return value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined;
  };

  return {
    /** The live session of the cookie; a malformed cookie means signed out (security R53). */
    async find(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined> {
      const session = await find(request, reply);
      browserState.keep(request, reply, session);
      return session;
    },
    /**
     * The same, with the browser's pending request and the user's grant to its client.
     * @param of the id of the request, or the client if there is no request
     */
    async findContext(
      request: FastifyRequest,
      reply: FastifyReply,
      of: { transaction?: string | undefined; clientId?: string | undefined },
    ): Promise<SignInContext> {
      const { transaction, clientId } = of;
      const context = await store.signInContexts.find({
        tokenHash: tokenHashOf(request, reply),
        idleLifetime: options.idleLifetime,
        requestHash: transaction === undefined ? undefined : digest('transaction', transaction),
        browserHash: this.browserHash(request),
        clientId,
      });
      await keepAlive(context.session);
      browserState.keep(request, reply, context.session);
      return context;
    },
    /** Whether the browser sent a session's cookie, valid or not: it sends none with a form of another site (SameSite=Lax). */
    carriesSession: (request: FastifyRequest): boolean =>
      all(request, sessionCookie).some((value) => value.startsWith(tag) || isUntagged(value)),
    sessionState: browserState.sessionState,
    /**
     * Signs in a user whose password, if one was shown, was verified against `passwordHash`. The session gets a new cookie and replaces
     * the previous one (security R52). False if the user has been disabled, or that password has changed.
     * @param user.authTime when the first factor was shown, if the sign-in counts from then
     * @param stored what is stored in the same transaction
     */
    async signIn(
      request: FastifyRequest,
      reply: FastifyReply,
      user: Verified,
      previous: Session | undefined,
      stored: Pick<NewSignIn, 'browser' | 'notice' | 'event' | 'resetsFailures'>,
    ): Promise<boolean> {
      const { token, maxAge, session: shown } = newSession(request, user, previous);
      // a sign-in here replaces one by a connection
      const session = { ...shown, upstream: shown.upstream ?? null };
      const signIn: NewSignIn = { ...stored, session, renews: undefined, perUser: options.perUser };
      if (!previous) return setSessionCookie(reply, token, await store.signIns.insert(signIn, request.log), maxAge);
      // the same user: the session keeps the tokens of its clients under a new cookie
      if (previous.user.sub === user.sub)
        return setSessionCookie(
          reply,
          token,
          await store.signIns.insert({ ...signIn, renews: previous.id }, request.log),
          maxAge,
        );
      const made = await store.transaction(async (repositories) => {
        if (await repositories.sessions.end(previous.id)) {
          const { address } = session;
          const detail = { session: previous.sid };
          await repositories.auditEvents.insert(
            { type: 'session.ended', outcome: 'success', actor: user.sub, sub: previous.user.sub, address, detail },
            request.log,
          );
        }
        return repositories.signIns.insert(signIn, request.log);
      });
      return setSessionCookie(reply, token, made, maxAge);
    },
    /** Gives a session that a user has strengthened a new cookie; false as for signIn(). */
    async renew(request: FastifyRequest, reply: FastifyReply, user: Verified, present: Session): Promise<boolean> {
      const { token, maxAge, session } = newSession(request, user, present);
      return setSessionCookie(reply, token, await store.sessions.renew(present.id, session), maxAge);
    },
    /** The digest of the form that was sent, by its token, for this browser; undefined without one. @param decided what the form decided */
    formHash,
    /**
     * Signs the browser in again if the same form has just done so: the answer to the first request of a double click is lost, and what the
     * form used up is gone. False if it has not.
     * @param decided as for the form that was kept
     */
    async repeat(request: FastifyRequest, reply: FastifyReply, decided?: string): Promise<boolean> {
      const form = formHash(request);
      if (!form) return false;
      const { token, hash } = newOpaqueToken('session');
      let made = await store.sessions.repeat(form, hash);
      // the first request has used something up, and may be about to store its session
      for (let looks = 0; !made && looks < look.most; looks++) {
        if (!(await store.usedForms.isKept(formHash(request, decided)))) return false;
        if (looks > 0) await setTimeout(look.every);
        made = await store.sessions.repeat(form, hash);
      }
      return setSessionCookie(reply, token, made !== undefined, made?.remaining);
    },
    /** The live session to which the same form has just given another cookie; it gets one more. */
    async findRepeated(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined> {
      const form = formHash(request);
      if (!form) return undefined;
      const { token, hash } = newOpaqueToken('session');
      const made = await store.sessions.repeat(form, hash);
      if (!setSessionCookie(reply, token, made !== undefined, made?.remaining)) return undefined;
      return store.sessions.find(hash, options.idleLifetime);
    },
    /** Expires both cookies of the browser, and changes the state that relying parties' pages poll. */
    forget(reply: FastifyReply): void {
      reply.clearCookie(sessionCookie, cookie);
      reply.clearCookie(browserCookie, cookie);
      browserState.end(reply);
    },
    /** The digest of the browser's id, if it has one. */
    browserHash(request: FastifyRequest): Buffer | undefined {
      const id = browserIdOf(request);
      return id === undefined ? undefined : digest('browser', id);
    },
    /** The same, but gives the browser an id if it has none. */
    ensureBrowserHash(request: FastifyRequest, reply: FastifyReply): Buffer {
      return digest('browser', ensureBrowserId(request, reply));
    },
    /** Gives the browser another id, for what begins after a sign-out. */
    renewBrowserId(request: FastifyRequest, reply: FastifyReply): void {
      giveBrowserId(request, reply);
    },
    /** The token of a form, bound to browser, session, transaction and action (security R55); its second part is bound to no session. */
    formToken(request: FastifyRequest, reply: FastifyReply, binding: FormBinding): string {
      const id = ensureBrowserId(request, reply);
      const tokens = [binding, ...(binding.session ? [{ ...binding, session: undefined }] : [])];
      return tokens.map((one) => macs(id, one)[0]!).join('.');
    },
    /**
     * True if a form came from our own page in this browser, for this session, transaction and action.
     * @throws OAuthError if another site sent it: then nothing of this browser changes, its cookies included
     */
    isOwnForm(request: FastifyRequest, token: string | undefined, binding: FormBinding): boolean {
      onlyOwnSite(request, origin);
      return isToken(request, token?.split('.')[0], binding);
    },
    /**
     * True if a form that is not isOwnForm() came from our own page in this browser, which was drawn before the session changed. Such a form
     * changes nothing: its answer is what a reload of the page would show.
     */
    isEarlierForm(request: FastifyRequest, token: string | undefined, binding: FormBinding): boolean {
      return isToken(request, token?.split('.').at(-1), { ...binding, session: undefined });
    },
  };

  function formHash(request: FastifyRequest, decided = ''): Buffer | undefined {
    const id = browserIdOf(request);
    const { csrf } = request.method === 'POST' ? singleValued(request.body) : {};
    return id === undefined || csrf === undefined
      ? undefined
      : digest('used form', JSON.stringify([id, csrf, decided]));
  }

  /** `maxAge` is that of the cookie, in seconds; undefined for a cookie that ends with the browser. @param present the session of the browser */
  function newSession(
    request: FastifyRequest,
    { upstream, remember = false, ...user }: Verified,
    present: Session | undefined,
  ): { token: string; maxAge: number | undefined; session: NewSession } {
    const { token, hash } = newOpaqueToken('session');
    // a user who signs in again in the same session stays signed in without choosing it again
    const until = present?.user.sub === user.sub ? present.rememberedUntil : undefined;
    const { rememberedLifetime } = options;
    const remembered = rememberedLifetime !== undefined && (remember || until !== undefined);
    const { lifetime: shorter = Infinity, ...at } = upstream ?? {};
    const lifetime = Math.min(remembered ? rememberedLifetime : options.lifetime, shorter);
    const session = {
      ...user,
      upstream: upstream && (at as UpstreamSession),
      tokenHash: hash,
      formHash: formHash(request),
      sid: randomSecret(),
      idleLifetime: remembered ? lifetime : options.idleLifetime,
      lifetime,
      remembered,
      userAgent: request.headers['user-agent']?.slice(0, maxUserAgent),
      address: clientAddress(request),
    };
    // factors that were shown earlier do not extend the session
    const end = user.authTime && present && until ? (until.getTime() - present.now.getTime()) / 1000 : Infinity;
    return { token, maxAge: remembered ? Math.min(lifetime, end) : undefined, session };
  }

  /** Sets the cookie of a session that was stored. */
  function setSessionCookie(reply: FastifyReply, token: string, made: boolean, maxAge: number | undefined): boolean {
    const kept = maxAge === undefined ? cookie : { ...cookie, maxAge: Math.ceil(maxAge) };
    if (made) reply.setCookie(sessionCookie, tag + token, kept);
    return made;
  }

  async function find(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined> {
    const hash = tokenHashOf(request, reply);
    // the cookie of an ended session stays: another tab may have got a new one, which clearing would remove
    const session = hash && (await store.sessions.find(hash, options.idleLifetime));
    await keepAlive(session);
    return session;
  }

  /** The digest of the cookie's token, if it is well-formed. */
  function tokenHashOf(request: FastifyRequest, reply: FastifyReply): Buffer | undefined {
    const sent = all(request, sessionCookie);
    const own = sent.filter((value) => value.startsWith(tag));
    const tokens = own.length === 0 ? sent.filter(isUntagged) : own.map((value) => value.slice(tag.length));
    if (own.length < 2) return tokens.length === 1 ? opaqueTokenHash('session', tokens[0]!) : undefined;
    // of two cookies of this issuer one is planted: both are ignored
    forgetPlanted(reply, sent.length > own.length);
    return undefined;
  }

  /** Whether an older version set the cookie, without the tag. */
  function isUntagged(value: string): boolean {
    return opaqueTokenHash('session', value) !== undefined;
  }

  async function keepAlive(session: Session | undefined): Promise<void> {
    if (session?.stale) await store.sessions.touch(session.id, options.idleLifetime);
  }

  /**
   * Expires our cookie and those that a neighbour can plant: above our path, and for the domains above our host (security R51).
   * Otherwise the user could not sign in until they expire.
   * @param besideOthers whether another issuer has a cookie of this name: above our path is its own, which stays
   */
  function forgetPlanted(reply: FastifyReply, besideOthers: boolean): void {
    const labels = host.split('.');
    const above = isIP(host) === 0 ? labels.map((_, from) => labels.slice(from).join('.')) : [];
    for (const path of new Set([cookie.path!, '/'])) {
      if (path === cookie.path || !besideOthers) reply.clearCookie(sessionCookie, { ...cookie, path });
      for (const domain of above.slice(0, -1)) reply.clearCookie(sessionCookie, { ...cookie, path, domain });
    }
  }

  function ensureBrowserId(request: FastifyRequest, reply: FastifyReply): string {
    return browserIdOf(request) ?? giveBrowserId(request, reply);
  }

  function giveBrowserId(request: FastifyRequest, reply: FastifyReply): string {
    const id = randomSecret();
    reply.setCookie(browserCookie, id, cookie);
    // a second call in the same request must return the same id
    const others = (request.headers.cookie ?? '')
      .split(';')
      .filter((part) => !part.trim().startsWith(`${browserCookie}=`));
    request.headers.cookie = [...others, `${browserCookie}=${id}`].join(';');
    return id;
  }

  function isToken(request: FastifyRequest, token: string | undefined, binding: FormBinding): boolean {
    const id = browserIdOf(request);
    return id !== undefined && token !== undefined && macs(id, binding).some((mac) => equalSecrets(token, mac));
  }

  /** With the current key first, then with older ones: a form may be older than the key. */
  function macs(browserId: string, binding: FormBinding): string[] {
    return secretBox.macs(
      'form',
      browserId,
      binding.action,
      binding.transaction ?? '',
      // a form from before a new sign-in is no longer valid
      binding.session ? `${binding.session.sid} ${binding.session.authTime.getTime()}` : '',
      binding.shown ?? '',
    );
  }
}

function foreignForm(): OAuthError {
  return new OAuthError('access_denied', 'the form was sent from another site', 403);
}

/** @throws OAuthError if another site sent the form */
export function onlyOwnSite(request: FastifyRequest, origin: string): void {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw foreignForm();
  // under no-referrer a browser hides the origin, but says that it is the same (Fetch, "append a request Origin header")
  const sent = request.headers.origin === 'null' && site === 'same-origin' ? undefined : request.headers.origin;
  if (sent !== undefined && sent !== origin) throw foreignForm();
}

/**
 * Refuses a prefetch, and a load as a subresource (security R8).
 * @param frames whether a frame may load it, too
 * @throws OAuthError
 */
export function onlyNavigation(request: FastifyRequest, frames = false): void {
  const purpose = `${request.headers['sec-purpose'] ?? ''} ${request.headers['purpose'] ?? ''} ${request.headers['x-moz'] ?? ''}`;
  const destination = request.headers['sec-fetch-dest'];
  const isNavigation = destination === undefined || destination === 'document' || (frames && isFramed(request));
  if (/prefetch|prerender/i.test(purpose) || !isNavigation) {
    throw new OAuthError('invalid_request', 'this URL can only be opened in a browser window', 403);
  }
}
