// Answers the forms of a mailed link that makes a way to sign in: the recovery codes after a passkey, and a form whose link is used up.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FormOutcomes, Refused } from '../browser/form-outcomes.ts';
import type { Config } from '../config.ts';
import type { PageResponses } from '../pages/page-response.ts';
import type { MailPages } from '../pages/views/mail-pages.ts';
import type { Pages } from '../pages/views/index.ts';
import { linkGone } from './mailed-link.ts';
import type { RememberedRequests } from './remembered-request.ts';

/** What the page of the recovery codes shows of a user who has just created a passkey. */
export type MadeCodes = Pick<Pages['account-recovery-codes'], 'account' | 'codes' | 'continueUri'>;

interface LinkAnswersDependencies {
  config: Config;
  formOutcomes: FormOutcomes;
  pages: PageResponses;
  rememberedRequests: RememberedRequests;
}

/** @param kind of the page that says that the link no longer works */
export function createLinkAnswers(options: LinkAnswersDependencies, kind: MailPages['link-gone']['kind']) {
  const { config, formOutcomes, pages, rememberedRequests } = options;
  const gone = (request: FastifyRequest, reply: FastifyReply) => linkGone(pages, request, reply, kind);

  return {
    gone,
    /** Answers a form whose link is used up: by this form itself, if a double click sent it twice. */
    async repeated(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const next = await rememberedRequests.repeat(request, reply, 'welcome');
      return next === undefined ? gone(request, reply) : pages.redirect(reply, next);
    },
    /**
     * Creates the passkey, and shows the recovery codes: to each request of a double click, since the browser shows the last answer.
     * @param mayAct whether the link works
     */
    async showCodes(
      request: FastifyRequest,
      reply: FastifyReply,
      mayAct: boolean,
      create: () => Promise<MadeCodes | Refused>,
    ): Promise<FastifyReply> {
      const result = await formOutcomes.once(request, create, mayAct);
      if ('refused' in result) return result.refused();
      const { made, again } = result;
      if (again && (await rememberedRequests.repeat(request, reply, 'welcome')) === undefined)
        return gone(request, reply);
      return pages.send(request, reply, 'account-recovery-codes', { ...made, issuer: config.issuer });
    },
  };
}
