// Answers a form about an authorization request that was answered: a form that a double click sent twice gets a new response for the same decision.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BrowserSessions } from '../browser/session.ts';
import { digest, randomSecret } from '../crypto/secrets.ts';
import type { PageResponses } from '../pages/page-response.ts';
import type { Store } from '../repositories/store.ts';
import { continuationPath } from './sign-in.ts';

/** @param isAllowed what the form decides */
export async function continueOrExpire(
  {
    store,
    sessions,
    pages,
  }: { store: Pick<Store, 'authorizationRequests'>; sessions: BrowserSessions; pages: PageResponses },
  request: FastifyRequest,
  reply: FastifyReply,
  isAllowed = false,
): Promise<FastifyReply> {
  const [form, browser] = [sessions.formHash(request), sessions.browserHash(request)];
  const transaction = randomSecret();
  const repeats =
    form &&
    browser &&
    (await store.authorizationRequests.repeat(form, digest('transaction', transaction), browser, isAllowed));
  return repeats ? pages.redirect(reply, continuationPath({ transaction })) : pages.refuse(request, reply, 'expired');
}
