// Answers an administrator who invited a user: the mail is on its way, or a page shows the link once.
import type { FastifyReply } from 'fastify';
import type { Config } from '../../../config.ts';
import type { User } from '../../../repositories/users/users.ts';
import type { AdminSession } from '../admin-session.ts';
import { pathOf } from './view.ts';

/** An invitation as an answer needs it: without a mail it has the link. */
export interface Invited {
  uri?: string | undefined;
  /** In milliseconds. */
  until?: number | undefined;
}

/** @param made whether the user was created with the invitation */
export function answerInvitation(
  { lifetimes }: Config,
  admin: AdminSession,
  user: Pick<User, 'sub' | 'username'>,
  { uri, until }: Invited,
  made: boolean,
): FastifyReply {
  const userUri = pathOf(user);
  if (uri === undefined || until === undefined) return admin.done(userUri, made ? 'user-invited' : 'invitation-sent');
  const data = { username: user.username, userUri, uri, lifetime: lifetimes.invitation, expiresAt: new Date(until) };
  return admin.send('console-user-link', { ...data, of: made ? 'new-user' : 'invitation' }, { section: 'users' });
}
