// Serves GET /login/email, which asks for the name of an account, and GET|POST /login/email/code, which asks for the code from the email.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { emailCodePath, emailPath } from '../../authenticators/email-code/email-code.ts';
import type { EmailCodes } from '../../authenticators/email-code/email-codes.ts';
import type { FormOutcomes, Refused } from '../../browser/form-outcomes.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { type PendingRequest, shownRequest } from '../../interaction/pending-request-view.ts';
import type { RememberedRequests } from '../../interaction/remembered-request.ts';
import { continuationPath, type SignIn, signInPath } from '../../interaction/sign-in.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import { type ReturnTo, returnToOf } from '../../pages/return-to.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { auditFailedSignIn, type AuditTrail } from '../../server/audit.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters, singleValued, textFields } from '../../server/parameters.ts';
import { onlyWhere } from '../../server/switched-off.ts';

const codeForm = textFields({ csrf: 100, transaction: 100, destination: 100, code: 100 });

interface EmailCodeDependencies {
  config: Config;
  clients: ClientCache;
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  /** Undefined where EMAIL_SIGN_IN is off. */
  emailCodes: EmailCodes | undefined;
  signIn: SignIn;
  rememberedRequests: RememberedRequests;
  pages: PageResponses;
  audit: AuditTrail;
}

type CodeState = Pick<Pages['login-email-code'], 'problem' | 'wait' | 'reference'>;

/** The request or page that the sign-in is for, and the browser's session. */
interface Visit {
  transaction: string | undefined;
  pending: PendingRequest | undefined;
  session: Session | undefined;
  returnTo: ReturnTo | undefined;
}

export async function emailCodeEndpoint(app: FastifyInstance, options: EmailCodeDependencies): Promise<void> {
  const { config, clients, sessions, formOutcomes, signIn, rememberedRequests, pages, audit } = options;
  const emailCodes = options.emailCodes!;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));
  onlyWhere(app, options.emailCodes !== undefined, 'users cannot sign in by a code from an email here');

  app.get(emailPath, async (request, reply) => {
    onlyNavigation(request);
    const { problem } = singleValued(request.query);
    const visit = await find(request, reply);
    return visit && askName(request, reply, visit, problem === 'missing');
  });

  app.get(emailCodePath, async (request, reply) => {
    onlyNavigation(request);
    const visit = await find(request, reply);
    if (!visit) return reply;
    if (emailCodes.find(request) === undefined) return pages.redirect(reply, signInPath(emailPath, visit));
    return askCode(request, reply, visit, {}, 200);
  });

  app.post(emailCodePath, async (request, reply) => {
    const mayAct = emailCodes.find(request) !== undefined;
    const result = await formOutcomes.once(request, () => verify(request, reply), mayAct);
    if ('refused' in result) return result.refused();
    if (result.again) await sessions.repeat(request, reply);
    return pages.redirect(reply, result.made.next);
  });

  /** Verifies the code, and completes the sign-in or begins its second step. */
  async function verify(request: FastifyRequest, reply: FastifyReply): Promise<{ next: string } | Refused> {
    const { csrf, code } = readParameters(codeForm, request.body);
    const visit = await find(request, reply);
    if (!visit) return { refused: () => reply };
    const refused = (state: CodeState, status = 400): Refused => ({
      refused: () => askCode(request, reply, visit, state, status),
    });
    const binding = codeBinding(request, visit);
    if (!sessions.isOwnForm(request, csrf, binding)) {
      if (visit.session && sessions.isEarlierForm(request, csrf, binding))
        return { refused: () => pages.redirect(reply, continuationPath(visit)) };
      return refused({ problem: 'tampered' });
    }
    if (code === undefined) return refused({ problem: 'missing' });
    const answer = await emailCodes.verify(request, code);
    if (answer.outcome === 'throttled') {
      reply.header('retry-after', String(answer.wait));
      return refused({ problem: 'throttled', wait: answer.wait }, 429);
    }
    const { session, transaction, pending, returnTo } = visit;
    const clientId = pending?.clientId;
    if (answer.outcome === 'right') {
      const user = { sub: answer.sub, passwordHash: undefined, amr: ['otp'] };
      const continuation = { previous: session, transaction, clientId, returnTo, remember: answer.remember };
      const next = await signIn.proceed(request, reply, user, continuation);
      if (next !== undefined) {
        emailCodes.close(reply);
        rememberedRequests.remember(request, reply, undefined);
        return { next };
      }
    }
    // a code that is wrong, used, too old, typed in another browser or of a name without an account: all read the same (security R60)
    const detail = { email_code: true };
    const reference = await auditFailedSignIn(audit, request, { sub: answer.sub, clientId, detail });
    return refused({ problem: 'code', reference });
  }

  /** The request that the sign-in is for; undefined after a redirect to the sign-in page, which says that it has expired. */
  async function find(request: FastifyRequest, reply: FastifyReply): Promise<Visit | undefined> {
    const { transaction } = singleValued(request.method === 'POST' ? request.body : request.query);
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    const returnTo = returnToOf(request);
    const shown = pending && (await shownRequest(clients, pending));
    // a client with connections of its own, and a request that has ended, are matters of the sign-in page
    if (transaction === undefined || (shown && shown.connections.length === 0))
      return { transaction, pending: shown, session, returnTo };
    void pages.redirect(reply, signInPath('/login', { transaction, returnTo }));
    return undefined;
  }

  const codeBinding = (request: FastifyRequest, { transaction, session, returnTo }: Visit) => ({
    action: emailCodePath,
    transaction,
    session,
    // the form of another code is another form
    shown: `${emailCodes.find(request)} ${returnTo?.value ?? ''}`,
  });

  const hiddenOf = (csrf: string, { transaction, returnTo }: Visit) => ({
    csrf,
    ...(transaction !== undefined && { transaction }),
    ...(returnTo && { destination: returnTo.value }),
  });

  function askName(request: FastifyRequest, reply: FastifyReply, visit: Visit, isMissing: boolean): FastifyReply {
    const { transaction, session, returnTo, pending } = visit;
    // the form is that of the sign-in page's first factor, which reads it
    const csrf = sessions.formToken(request, reply, {
      action: emailPath,
      transaction,
      session,
      shown: returnTo?.value,
    });
    const login = pending?.loginHint ?? session?.user.username;
    const data: Pages['login-email'] = {
      form: { action: emailPath, hidden: hiddenOf(csrf, visit) },
      backUri: signInPath('/login', visit),
      ...(login !== undefined && { login }),
      ...(isMissing && { problem: 'missing' }),
      ...(config.rememberMe && session === undefined && { remember: false }),
      ...(pending?.client && { client: pending.client }),
    };
    return pages.send(request, reply, 'login-email', data, {
      status: isMissing ? 400 : 200,
      uiLocales: pending?.uiLocales,
      here: signInPath(emailPath, visit),
    });
  }

  function askCode(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit,
    state: CodeState,
    status: number,
  ): FastifyReply {
    const { pending } = visit;
    const csrf = sessions.formToken(request, reply, codeBinding(request, visit));
    const data: Pages['login-email-code'] = {
      form: { action: emailCodePath, hidden: hiddenOf(csrf, visit) },
      againUri: signInPath(emailPath, visit),
      backUri: signInPath('/login', visit),
      ...state,
      ...(pending?.client && { client: pending.client }),
    };
    return pages.send(request, reply, 'login-email-code', data, {
      status,
      uiLocales: pending?.uiLocales,
      here: signInPath(emailCodePath, visit),
    });
  }
}
