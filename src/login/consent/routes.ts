// Serves GET|POST /consent: shows the scopes and claims that the client requests, and stores the End-User's decision (security R11).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest } from '../../crypto/secrets.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import type { InteractionFlow, ConsentQuestion } from '../../interaction/relying-party.ts';
import { denialReference } from '../../interaction/denial-reference.ts';
import { continuationPath, signInPath } from '../../interaction/sign-in.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { apiView } from '../../pages/api-view.ts';
import { detailView } from '../../pages/detail-view.ts';
import { legible, scopeView } from '../../pages/claim-text.ts';
import { onlyForms } from '../../server/form-body.ts';
import { clientAddress } from '../../server/network.ts';
import { accountView, clientView } from '../../pages/page-response.ts';
import { singleValued } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import type { Pages } from '../../pages/views/index.ts';
import { namedClaims } from '../../rules/claims/claims.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { isNothing, lacking, nothing } from '../../oauth/granted.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { SignInContext } from '../../repositories/sessions/sign-in-context.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import { continueOrExpire } from '../../interaction/repeated-form.ts';
import { storeConsent } from './store-consent.ts';

const form = z.object({
  csrf: text(100).optional(),
  transaction: text(100),
  decision: z.enum(['allow', 'deny']),
});

/** The field by which the user keeps a detail that the user may take out. */
const keepField = (index: number) => `keep_${index}`;

interface ConsentDependencies {
  store: Pick<Store, 'transaction' | 'authorizationRequests'>;
  sessions: BrowserSessions;
  pages: PageResponses;
  flow: InteractionFlow;
}

export async function consentEndpoint(app: FastifyInstance, options: ConsentDependencies): Promise<void> {
  const { store, sessions, pages, flow } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/consent', { errorHandler: flow.errors }, (request, reply) => {
    onlyNavigation(request);
    const { transaction } = singleValued(request.query);
    if (transaction === undefined) return pages.refuse(request, reply, 'expired');
    return flow.resume(request, reply, transaction, {
      consent: (question, session, grant) => show(request, reply, transaction, question, session, grant),
    });
  });

  app.post('/consent', async (request, reply) => {
    const fields = singleValued(request.body);
    const parsed = form.safeParse(fields);
    if (!parsed.success) throw new OAuthError('invalid_request', 'the form could not be read');
    const { csrf, transaction, decision } = parsed.data;
    const { session, pending, grant } = await sessions.findContext(request, reply, { transaction });
    const question = pending && (await flow.questionOf(pending));
    if (!question) return continueOrExpire(options, request, reply, decision === 'allow');
    if (!session) return pages.redirect(reply, `/login?transaction=${transaction}`);
    const binding = { action: '/consent', transaction, session, shown: shown(question) };
    if (!sessions.isOwnForm(request, csrf, binding)) {
      // another tab has signed in: the page asks its user
      const problem = sessions.isEarlierForm(request, csrf, binding) ? 'earlier' : 'tampered';
      return show(request, reply, transaction, question, session, grant, problem);
    }
    await storeConsent(
      store,
      {
        idHash: digest('transaction', transaction),
        decision: { allowed: decision === 'allow', sub: session.user.sub, ...allowedDetails(question, fields) },
        question,
        address: clientAddress(request),
        reference: denialReference(pending, session.user.sub),
        formHash: sessions.formHash(request),
      },
      request.log,
    );
    return pages.redirect(reply, continuationPath({ transaction }));
  });

  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    transaction: string,
    question: ConsentQuestion,
    session: Session,
    granted: SignInContext['grant'],
    problem?: 'tampered' | 'earlier',
  ): FastifyReply {
    const lacked = lacking(granted ?? nothing, question.asked);
    // the whole request is shown if everything was granted before
    const hasDetails = question.details.length > 0;
    const { scope, claims, resources } = isNothing(lacked) && !hasDetails ? question.asked : lacked;
    const data: Pages['consent'] = {
      client: clientView(question.client, question.redirectUri),
      account: accountView(session.user),
      form: {
        action: `/consent`,
        hidden: {
          csrf: sessions.formToken(request, reply, {
            action: '/consent',
            transaction,
            session,
            shown: shown(question),
          }),
          transaction,
        },
      },
      switchAccountUri: signInPath('/login/accounts', { transaction }),
      claims: claims.map((claim) => legible(claim, namedClaims(session.user, [claim])[claim])),
      apis: question.apis.flatMap((api) => (resources[api.id] ? [apiView(api, resources[api.id]!)] : [])),
      scopes: scope.map((value) => scopeView(session.user, question.client, value)),
    };
    // all of them, whatever the user allowed before
    if (hasDetails)
      data.details = question.details.map((asked, index) =>
        detailView(asked, asked.type.removable ? keepField(index) : undefined),
      );
    if (problem === 'tampered') data.problem = problem;
    return pages.send(request, reply, 'consent', data, {
      status: problem ? 400 : 200,
      uiLocales: question.uiLocales,
      here: continuationPath({ transaction }),
    });
  }
}

/** The details that the user keeps: each, except those of a type that allows to take single ones out. */
function allowedDetails(
  { details }: ConsentQuestion,
  fields: Readonly<Record<string, string>>,
): { details?: readonly Detail[] } {
  if (details.length === 0) return {};
  const kept = details.filter(({ type }, index) => !type.removable || fields[keepField(index)] === 'yes');
  return { details: kept.map(({ detail }) => detail) };
}

/** The question as the form is bound to it. */
function shown({ asked: { scope, claims, resources, details } }: ConsentQuestion): string {
  const ofApis = Object.entries(resources).flatMap(([id, values]) => values.map((value) => `${id}:${value}`));
  return [
    ...scope,
    ...claims.map((claim) => `claim:${claim}`),
    ...ofApis,
    ...(details ? [JSON.stringify(details)] : []),
  ].join(' ');
}
