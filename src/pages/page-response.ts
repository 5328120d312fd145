// Answers with pages: sets their headers, chooses their language, and writes errors as pages.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseUnavailable } from '../database/database.ts';
import type { Brand } from '../domain/appearance/appearance.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { KeepRefusal } from '../domain/refusals/kept-refusals.ts';
import { documentName, hasOnlyLoopback } from '../oauth/client-document.ts';
import { displayName, redirectHost } from '../oauth/client-metadata.ts';
import { OAuthError } from '../oauth/errors.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { User } from '../repositories/users/users.ts';
import { jsonErrors, logRefusal, noStore, toOAuthError } from '../server/errors.ts';
import { onlyForms } from '../server/form-body.ts';
import { logoOf, ownImage } from '../rules/images/address.ts';
import { clientAddress, networkOf } from '../server/network.ts';
import { clientsInLanguage, inLanguage } from './localized-client.ts';
import { linkTarget } from './markup.ts';
import type { PageRenderer } from './renderer.ts';
import { createShownPages } from './shown-again.ts';
import type { AccountView, ClientView, PageName, Pages } from './views/index.ts';

export interface PageOptions {
  status?: number;
  /** ui_locales of the request. */
  uiLocales?: string | undefined;
  /** The page's own address below the base path, by which it offers the other languages; if missing, that of a GET request. */
  here?: string;
  /** The language that the user has just chosen for the page. */
  locale?: string;
  /** Changes the finished page. @param text gives a sentence of the catalogue in the page's language */
  finish?: ((html: string, text: (key: string) => string) => string) | undefined;
}

/** The language that the user chose on a page. It goes before that of the request. */
export interface LanguageChoice {
  /** The remembered one. */
  stored(request: FastifyRequest): string | undefined;
  /** The one that the address names as a page's menu does; it is remembered. */
  take(request: FastifyRequest, reply: FastifyReply): string | undefined;
  /** Remembers one, if it is known. @returns the same */
  keep(reply: FastifyReply, tag: string | undefined): string | undefined;
}

const requestExpired = new OAuthError(
  'invalid_request',
  'the request was answered before, has expired, or belongs to another browser',
);

/** The statuses of requests that are refused by their form alone, at no cost for the database, or because there are too many. */
const ofForm: ReadonlySet<number> = new Set([404, 405, 408, 413, 414, 415, 417, 429, 431]);

/** The mark that the template of a growing page has twice. */
const stepMark = '<!--step-->';

/** They lead on by themselves before anyone could choose a language, and have no menu. */
const momentary: ReadonlySet<PageName> = new Set<PageName>(['form-post', 'leave', 'login-leave']);

/** A second request for one of these shows another page. */
const shownOnce: ReadonlySet<PageName> = new Set<PageName>(['connection-problem', 'form-post', 'leave']);

/** Where the language menu of a page is sent that no link opens again. */
export const languagePath = '/language';

export type PageResponses = ReturnType<typeof createPageResponses>;

/** @param brand returns the look that is in force @param secretBox seals what a page shows again */
export function createPageResponses(
  pages: PageRenderer,
  basePath: string,
  languageChoice: LanguageChoice,
  brand: () => Brand,
  keepRefusal: KeepRefusal,
  secretBox: Pick<SecretBox, 'seal' | 'open'>,
) {
  const shownPages = createShownPages(secretBox);

  /** Sets the headers of an answer with a page. @returns the page's language */
  function begin<N extends PageName>(
    request: FastifyRequest,
    reply: FastifyReply,
    name: N,
    data: Pages[N],
    options: PageOptions,
    here: string | undefined,
  ): string {
    const taken = here === undefined ? undefined : languageChoice.take(request, reply);
    const wishes = [options.locale ?? taken ?? languageChoice.stored(request), options.uiLocales].filter(
      (wish) => wish !== undefined,
    );
    const locale = pages.chooseLocale(wishes.join(' '), request.headers['accept-language'], name);
    const client = 'client' in data ? (data.client as ClientView | undefined) : undefined;
    const logo = linkTarget(client && inLanguage(client, locale).logoUri);
    const frames = 'frames' in data ? (data.frames ?? []).map((frame) => new URL(frame).origin) : [];
    noStore(reply)
      .code(options.status ?? 200)
      .header(
        // the page loads nothing from other sites, and no cache stores it (security R96)
        'content-security-policy',
        [
          `default-src 'none'`,
          `style-src 'self'`,
          `script-src 'self'${name === 'form-post' ? ` ${pages.formPostScriptHash}` : ''}`,
          `img-src 'self' data:${logo === undefined ? '' : ` ${new URL(logo).origin}`}`,
          // browsers check each redirect of a form (webappsec-csp issue 8), so that a form of ours leads to a page of ours only (`leave`). A
          // posted response goes to the client, which may send it on to any address: that page has no other form
          ...(name === 'form-post' ? [] : [`form-action 'self'`]),
          // the console's own scripts ask it for names, and for the result of a test
          ...(name.startsWith('console-') ? [`connect-src 'self'`] : []),
          `base-uri 'none'`,
          ...(frames.length > 0 ? [`frame-src ${[...new Set(frames)].join(' ')}`] : []),
          `object-src 'none'`,
          `frame-ancestors 'none'`,
        ].join('; '),
      )
      .type('text/html; charset=utf-8');
    return locale;
  }

  function send<N extends PageName>(
    request: FastifyRequest,
    reply: FastifyReply,
    name: N,
    data: Pages[N],
    options: PageOptions = {},
  ): FastifyReply {
    const here = options.here ?? (shownOnce.has(name) ? undefined : addressOf(request));
    const locale = begin(request, reply, name, data, options, here);
    const shown =
      here === undefined ? withForm(name, data, options) : { ...data, languages: pages.languages(name, here) };
    const html = pages.render(name, clientsInLanguage(shown, locale), { locale, brand: brand() });
    const finished = options.finish ? options.finish(html, (key) => pages.text(key, locale)) : html;
    // encoded once: a text would be, for its length and for each part that is sent
    return reply.send(Buffer.from(finished));
  }

  /** Gives a page of users that no link opens again a menu that sends what it shows, sealed: nothing of it is lost, and no address is repeated. */
  function withForm<N extends PageName>(name: N, data: Pages[N], options: PageOptions): Pages[N] {
    if (momentary.has(name) || name.startsWith('console-')) return data;
    // the frames that tell clients of a sign-out have done so
    const shown = shownPages.seal({ name, data: { ...data, frames: undefined }, status: options.status ?? 200 });
    if (shown === undefined) return data;
    return { ...data, languages: pages.languages(name, ''), languageForm: { action: languagePath, hidden: { shown } } };
  }

  /** Shows a page again in the language that the user chose in its menu. @throws OAuthError for a page that is too old, or none of this service */
  function sendAgain(request: FastifyRequest, reply: FastifyReply, sealed: string, tag: string): FastifyReply {
    const page = shownPages.open(sealed);
    const locale = page && languageChoice.keep(reply, tag);
    if (locale === undefined) throw requestExpired;
    // it was sealed as the data of the page with this name
    return send(request, reply, page!.name, page!.data as Pages[PageName], { status: page!.status, locale });
  }

  /**
   * Answers with a page that shows the progress of an operation and then its result: one growing answer, which needs no script. The page's
   * template has two step marks: the part before them is sent once, the part between them at each step.
   * @param steps the page at each step, and at its end
   */
  function sendSteps<N extends PageName>(
    request: FastifyRequest,
    reply: FastifyReply,
    name: N,
    first: Pages[N],
    steps: AsyncGenerator<Pages[N], Pages[N]>,
    options: PageOptions = {},
  ): FastifyReply {
    const locale = begin(request, reply, name, first, options, options.here);
    const look = brand();
    const partsOf = (data: Pages[N]) => pages.render(name, data, { locale, brand: look }).split(stepMark);
    async function* growing(): AsyncGenerator<string> {
      const [head, step] = partsOf(first);
      // an operator's own template may have no marks: then the page is sent at the end
      if (step !== undefined) yield `${head}${step}`;
      for (;;) {
        const next = await steps.next();
        const parts = partsOf(next.value);
        if (next.done) return yield parts.slice(step === undefined ? 0 : 2).join('');
        if (step !== undefined) yield parts[1]!;
      }
    }
    // a proxy that buffers answers would show nothing before the end
    return reply.header('x-accel-buffering', 'no').send(Readable.from(growing()));
  }

  /**
   * The address below the base path of a page that a link opened. Undefined if it is no address of a page, or if it has a value that other sites could
   * make the page repeat (federation FR13).
   */
  function addressOf({ method, url, is404 }: FastifyRequest): string | undefined {
    const isLocal = /^\/(?![/\\])/;
    if (is404 || method !== 'GET' || !isLocal.test(url) || !url.startsWith(`${basePath}/`)) return undefined;
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    searchParams.delete('locale');
    const path = pathname.slice(basePath.length);
    const isWord = /^[\w-]{1,64}$/;
    if (!isLocal.test(path) || ![...searchParams].flat().every((text) => isWord.test(text))) return undefined;
    return searchParams.size > 0 ? `${path}?${searchParams.toString()}` : path;
  }

  /** Logs what is behind a refusal that stays on a page, and keeps it; returns the reference for the page. */
  async function explain(request: FastifyRequest, refusal: OAuthError): Promise<string> {
    const reference = logRefusal(refusal, request);
    // a second failure of the database would take as long as the first; and the form of a request explains itself (security R106)
    if (refusal.cause instanceof DatabaseUnavailable || ofForm.has(refusal.status)) return reference;
    const from = { network: networkOf(clientAddress(request)), path: request.url.split('?')[0]! };
    await keepRefusal(reference, refusal, from).catch((error: unknown) =>
      request.log.warn({ reference, err: error }, 'what is behind a refusal is in the log alone'),
    );
    return reference;
  }

  /** The error handler of pages: a page for browsers, JSON for programs. */
  async function errors(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!acceptsHtml(request)) {
      return jsonErrors(error, request, reply);
    }
    const refusal = toOAuthError(error);
    const reference = await explain(request, refusal);
    reply.headers(refusal.headers);
    return send(request, reply, 'error', { kind: errorKind(refusal), reference }, { status: refusal.status });
  }

  return {
    send,
    sendAgain,
    sendSteps,
    explain,
    errors,
    /** Redirects the browser within the service (303, so that a form is never sent again: security R10). */
    redirect: (reply: FastifyReply, path: string): FastifyReply => noStore(reply).redirect(basePath + path, 303),
    /**
     * "Redirect to the sign-in page" (specification 4.1, 4.2, 7), which shows every browser the same problem (security R2), and a
     * reference by which an administrator learns more.
     */
    async refuse(
      request: FastifyRequest,
      reply: FastifyReply,
      problem: 'client' | 'request' | 'expired',
      refusal: OAuthError = requestExpired,
    ): Promise<FastifyReply> {
      const reference = await explain(request, refusal);
      return noStore(reply).redirect(`${basePath}/login?problem=${problem}&reference=${reference}`, 303);
    },
  };
}

/** Lets the pages of an area read forms only, and answer errors with a page. */
export async function servePages(app: FastifyInstance, pages: Pick<PageResponses, 'errors'>): Promise<void> {
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));
}

/** The client as pages show it. @param redirectUri the redirect URI in use, else the first registered one */
export function clientView(client: Client, redirectUri = client.metadata.redirect_uris[0]): ClientView {
  const { client_uri, logo_uri, policy_uri, tos_uri, localized } = client.metadata;
  const view: ClientView = {
    clientId: client.clientId,
    name: displayName(client.clientId, client.metadata),
    host: redirectUri === undefined ? client.clientId : redirectHost(redirectUri),
    selfRegistered: client.approvedBy === 'automatic',
  };
  if (client.origin === 'document') {
    view.name = documentName(client.clientId);
    view.document = { onlyLoopback: hasOnlyLoopback(client.metadata) };
    if (client.metadata.client_name !== undefined) view.document.claimedName = client.metadata.client_name;
  }
  if (client_uri !== undefined) view.homeUri = client_uri;
  const logo = logoOf(client);
  if (logo !== undefined) view.logo = logo;
  else if (logo_uri !== undefined) view.logoUri = logo_uri;
  if (policy_uri !== undefined) view.policyUri = policy_uri;
  if (tos_uri !== undefined) view.tosUri = tos_uri;
  if (localized !== undefined) view.localized = localized;
  return view;
}

/** The client of a request that no redirect URI takes part in: with the host of its redirect URI or its home page, if it has one. */
export function remoteClientView(client: Client): ClientView {
  const {
    redirect_uris: [redirectUri],
    client_uri: home,
  } = client.metadata;
  const host = redirectUri !== undefined ? redirectHost(redirectUri) : home !== undefined ? new URL(home).host : '';
  return { ...clientView(client), host };
}

export function accountView(user: User): AccountView {
  const name = user.claims['name'];
  const picture = ownImage(user.claims['picture']);
  return {
    sub: user.sub,
    username: user.username,
    ...(picture !== undefined && { picture }),
    ...(typeof name === 'string' && name !== '' && { name }),
    ...(user.passwordHash === undefined && { passwordless: true }),
  };
}

/** Whether a browser navigates; programs get JSON. */
function acceptsHtml(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/html') || request.headers['sec-fetch-mode'] === 'navigate';
}

function errorKind(refusal: OAuthError): Pages['error']['kind'] {
  if (refusal.code === 'not_found') return 'not-found';
  if (refusal.code === 'conflict') return 'answered';
  if (refusal.code === 'access_denied') return 'tampered';
  if (refusal.code === 'insufficient_scope') return 'permission';
  switch (refusal.status) {
    case 403:
      return 'navigation';
    case 405:
      return 'method';
    case 413:
    case 414:
    case 431:
      return 'too-large';
    case 429:
      return 'too-many';
    case 503:
      return 'unavailable';
    default:
      return refusal.status >= 500 ? 'server' : 'request';
  }
}
