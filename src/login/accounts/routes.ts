// Serves GET|POST /login/accounts: the user continues as the signed-in user, chooses another account of this browser, or removes one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DeviceCookies } from '../../browser/device-cookie.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { digest } from '../../crypto/secrets.ts';
import { shownRequest } from '../../interaction/pending-request-view.ts';
import { continuationPath, signInPath } from '../../interaction/sign-in.ts';
import { withoutAccountChoice } from '../../oauth/prompt.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import { type ReturnTo, returnToOf } from '../../pages/return-to.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { AuthorizationRequestRow } from '../../repositories/authorization-requests/authorization-requests.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { ownImage } from '../../rules/images/address.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters, singleValued, textFields } from '../../server/parameters.ts';

const path = '/login/accounts';

/** `continue` and `remove` hold the sub of an account. */
const form = textFields({ csrf: 100, transaction: 100, destination: 100, continue: 255, remove: 255 });

interface AccountChooserDependencies {
  store: Pick<Store, 'authorizationRequests'>;
  clients: ClientCache;
  sessions: BrowserSessions;
  deviceCookies: DeviceCookies;
  pages: PageResponses;
}

/** The request that the chooser belongs to, and the browser's session. */
interface Choice {
  transaction: string | undefined;
  pending: AuthorizationRequestRow | undefined;
  session: Session | undefined;
  returnTo: ReturnTo | undefined;
}

export async function accountChooserEndpoint(app: FastifyInstance, options: AccountChooserDependencies): Promise<void> {
  const { store, clients, sessions, deviceCookies, pages } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get(path, async (request, reply) => {
    onlyNavigation(request);
    const { transaction } = singleValued(request.query);
    const choice = await find(request, reply, transaction);
    return show(request, reply, choice);
  });

  app.post(path, async (request, reply) => {
    const { csrf, transaction, continue: continued, remove } = readParameters(form, request.body);
    const choice = await find(request, reply, transaction);
    const { pending, session } = choice;
    if (!sessions.isOwnForm(request, csrf, bindingOf(choice)))
      // another tab has signed in: the page shows who is signed in now
      return show(
        request,
        reply,
        choice,
        sessions.isEarlierForm(request, csrf, bindingOf(choice)) ? 'earlier' : 'tampered',
      );
    if (remove !== undefined) await deviceCookies.forget(request, remove);
    // the list holds the signed-in user until the session ends
    if (session && remove === session.user.sub) return pages.redirect(reply, '/logout');
    if (session === undefined || continued !== session.user.sub) return pages.redirect(reply, signInPath(path, choice));
    const prompt = pending?.parameters['prompt'] ?? '';
    const remaining = withoutAccountChoice(prompt);
    if (pending && transaction !== undefined && remaining !== prompt)
      await store.authorizationRequests.setPrompt(digest('transaction', transaction), remaining);
    return pages.redirect(reply, continuationPath(choice));
  });

  async function find(request: FastifyRequest, reply: FastifyReply, transaction: string | undefined): Promise<Choice> {
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    return { transaction, pending, session, returnTo: returnToOf(request) };
  }

  const bindingOf = ({ transaction, session, returnTo }: Choice) => ({
    action: path,
    transaction,
    session,
    shown: returnTo?.value,
  });

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    choice: Choice,
    problem?: 'tampered' | 'earlier',
  ): Promise<FastifyReply> {
    const { transaction, pending, session, returnTo } = choice;
    const signIn = signInPath('/login', choice);
    // the sign-in page says that the request has expired
    if (transaction !== undefined && !pending) return pages.redirect(reply, signIn);
    const known = await deviceCookies.accounts(request);
    if (known.length === 0) deviceCookies.clear(request, reply);
    if (!session && known.length === 0) return pages.redirect(reply, signIn);
    const signInAs = (account: string) => `${signIn}${signIn.includes('?') ? '&' : '?'}account=${account}`;
    const shown = pending && (await shownRequest(clients, pending));
    const data: Pages['login-accounts'] = {
      accounts: known
        .filter(({ sub }) => sub !== session?.user.sub)
        .map(({ picture, ...account }) => {
          const own = ownImage(picture);
          return { ...account, ...(own && { picture: own }), uri: signInAs(encodeURIComponent(account.sub)) };
        }),
      form: {
        action: path,
        hidden: {
          csrf: sessions.formToken(request, reply, bindingOf(choice)),
          ...(transaction !== undefined && { transaction }),
          ...(returnTo && { destination: returnTo.value }),
        },
      },
      otherUri: signInAs('other'),
    };
    if (session) data.signedIn = { ...accountView(session.user), sub: session.user.sub };
    if (shown?.client) data.client = shown.client;
    if (problem === 'tampered') data.problem = problem;
    return pages.send(request, reply, 'login-accounts', data, {
      status: problem ? 400 : 200,
      uiLocales: shown?.uiLocales,
      here: signInPath(path, choice),
    });
  }
}
