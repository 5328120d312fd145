// Reads the token of a mailed link from a request, says that a link is gone, and counts the orders of links.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PageResponses } from '../pages/page-response.ts';
import type { MailPages } from '../pages/views/mail-pages.ts';
import type { LinkPurpose, MailedLink } from '../repositories/mails/mailed-links.ts';
import type { Limits } from '../repositories/rate-limits/rate-limits.ts';
import type { Store } from '../repositories/store.ts';
import { clientAddress, networkOf } from '../server/network.ts';
import { singleValued } from '../server/parameters.ts';
import { opaqueTokenHash } from '../tokens/opaque-token.ts';

export interface OpenLink extends MailedLink {
  token: string;
  hash: Buffer;
}

/**
 * The link whose token a page was asked with or a form holds; undefined for one that is unknown, used up or over. Looking does
 * not use it up: programs open the links in mails before people do.
 */
export async function findLink(
  store: Pick<Store, 'mailedLinks'>,
  request: FastifyRequest,
  purposes: LinkPurpose[],
): Promise<OpenLink | undefined> {
  const { token } = singleValued(request.method === 'POST' ? request.body : request.query);
  const hash = token === undefined ? undefined : opaqueTokenHash('mailed_link', token);
  const link = hash && (await store.mailedLinks.find(hash, purposes));
  return link && { ...link, token: token!, hash: hash! };
}

export const linkGone = (
  pages: PageResponses,
  request: FastifyRequest,
  reply: FastifyReply,
  kind: MailPages['link-gone']['kind'],
): FastifyReply => {
  const uri = { password: '/password/forgotten', address: '/account', 'sign-up': '/sign-up' }[kind];
  return pages.send(request, reply, 'link-gone', { kind, uri }, { status: 410 });
};

/** Counts an order of a link; the number of seconds to wait when it is one too many, else 0 (security R62). */
export const countOrder = (limits: Limits, request: FastifyRequest): Promise<number> =>
  limits.consume('mailedLinksPerNetwork', networkOf(clientAddress(request)));
