// What the pages behind mailed links share: reading the token, the limit on orders, and the choice of a password.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { PasswordHashingBusy, type PasswordHashing } from '../crypto/password-hashing.ts';
import { password as passwordShape } from '../oauth/administration.ts';
import { OAuthError } from '../oauth/errors.ts';
import type { Limits } from '../repositories/limits.ts';
import type { LinkPurpose, MailedLink } from '../repositories/mailed-links.ts';
import type { Store } from '../repositories/index.ts';
import { opaqueTokenHash } from '../tokens/opaque-token.ts';
import { clientAddress, networkOf } from './network.ts';
import { singleValued } from './parameters.ts';
import type { PasswordPolicy } from './password-policy.ts';
import type { PageResponses } from './page-response.ts';
import type { MailPages } from './views/mail-pages.ts';

/** Where a link that an administrator hands over leads. */
export const recoveryUri = (issuer: string, token: string): string => `${issuer}/password/reset?token=${token}`;

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

/** In which language whoever has chosen none is written to. */
export const languagesOf = (request: FastifyRequest): string | undefined =>
  request.headers['accept-language']?.slice(0, 200);

/** Checks passwords that are chosen: why one may not be (security R59), else its hash, else that there is no place to compute it. */
export function createPasswordChoice({
  config,
  passwords,
  passwordPolicy,
}: {
  config: Config;
  passwords: PasswordHashing;
  passwordPolicy: PasswordPolicy;
}) {
  const shape = passwordShape(config.passwordMinLength);
  return {
    async faultOf(
      chosen: string | undefined,
      person: Parameters<PasswordPolicy>[1],
    ): Promise<'missing' | 'length' | 'common' | undefined> {
      if (chosen === undefined) return 'missing';
      if (!shape.safeParse(chosen).success) return 'length';
      try {
        await passwordPolicy(chosen, person);
        return undefined;
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error;
        return 'common';
      }
    },
    /** Undefined when too many are computed just now. */
    async hash(chosen: string): Promise<string | undefined> {
      try {
        return await passwords.admit((place) => place.hash(chosen));
      } catch (error) {
        if (!(error instanceof PasswordHashingBusy)) throw error;
        return undefined;
      }
    },
  };
}
