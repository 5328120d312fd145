// Finds the mailed link of a request's token, answers for an invalid link, and limits the number of requested links.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PageResponses } from '../pages/page-response.ts';
import type { MailPages } from '../pages/views/mail-pages.ts';
import type { LinkPurpose, MailedLink } from '../repositories/mailed-links/mailed-links.ts';
import type { Limits } from '../domain/rate-limits/rate-limits.ts';
import type { Store } from '../repositories/store.ts';
import { clientAddress, networkOf } from '../server/network.ts';
import { singleValued } from '../server/parameters.ts';
import { opaqueTokenHash } from '../tokens/opaque-token.ts';

export interface OpenLink extends MailedLink {
  token: string;
  hash: Buffer;
}

/**
 * The link of a page's or form's token; undefined if it is unknown, used up or expired. Opening the page does not use it up, since
 * mail scanners open links before users do.
 */
export async function findLink(
  store: Pick<Store, 'mailedLinks'>,
  request: FastifyRequest,
  purposes: LinkPurpose[],
): Promise<OpenLink | undefined> {
  const { token, hash } = tokenOf(request);
  const link = hash && (await store.mailedLinks.find(hash, purposes));
  return link && { ...link, token: token!, hash };
}

/** The link of a form's token that was used up in the last seconds: perhaps by the same form, which a double click sent twice. */
export async function findUsedLink(
  store: Pick<Store, 'mailedLinks'>,
  request: FastifyRequest,
  purposes: LinkPurpose[],
): Promise<OpenLink | undefined> {
  const { token, hash } = tokenOf(request);
  const link = hash && (await store.mailedLinks.findUsed(hash, purposes));
  return link && { ...link, token: token!, hash };
}

function tokenOf(request: FastifyRequest): { token: string | undefined; hash: Buffer | undefined } {
  const { token } = singleValued(request.method === 'POST' ? request.body : request.query);
  return { token, hash: token === undefined ? undefined : opaqueTokenHash('mailed_link', token) };
}

/** The address of the page that a link opens. */
export const linkPath = (path: string, { token }: Pick<OpenLink, 'token'>): string =>
  `${path}?${new URLSearchParams({ token })}`;

export const linkGone = (
  pages: PageResponses,
  request: FastifyRequest,
  reply: FastifyReply,
  kind: MailPages['link-gone']['kind'],
): FastifyReply => {
  const uri = {
    password: '/password/forgotten',
    address: '/account',
    'sign-up': '/sign-up',
    'sign-up-link': '/login',
    invitation: '/login',
  }[kind];
  return pages.send(request, reply, 'link-gone', { kind, uri }, { status: 410 });
};

/** Counts the request of a link; returns the seconds to wait if there are too many, else 0 (security R62). */
export const countLinkRequest = (limits: Limits, request: FastifyRequest): Promise<number> =>
  limits.consume('mailedLinksPerNetwork', networkOf(clientAddress(request)));
