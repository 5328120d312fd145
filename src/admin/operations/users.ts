// Declares the operations on users: list, create and invite, show, change, delete, and reset failed sign-ins.
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import { z } from 'zod';
import { newInvitation } from '../../domain/administration/invitations.ts';
import { userView } from '../../domain/administration/administrator-views.ts';
import { pageShape, readUserCursor, userCursorOf } from '../../domain/administration/paging.ts';
import { newUserShape, userChangeShape } from '../../rules/users/administration.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { loginKey } from '../../rules/users/login-key.ts';
import { refusal, rule } from '../../oauth/refusals.ts';
import { text } from '../../oauth/text.ts';
import type { Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import { bySub, operation, type OperationCommand } from './operation.ts';
import { facts, table } from './text-table.ts';

const section = { permission: 'users', tag: 'users' } as const;
const path = '/admin/api/users';

/** The filter of a list or an export of users. */
export const userFilter = {
  q: text(255).optional().describe('Words that each begin a word of the user name, the email or the names.'),
  group: text(255).optional().describe('Only members of this group.'),
  status: z.enum(['enabled', 'disabled']).optional().describe('Only users with this status.'),
  admin: z.enum(['true']).optional().describe('Only administrators.'),
};

/** @throws OAuthError not_found */
export async function findUser({ users }: Pick<Store, 'users'>, sub: string): Promise<User> {
  const user = await users.find(sub);
  if (!user) throw notFound('there is no such user');
  return user;
}

export const listUsers = operation({
  method: 'GET',
  path,
  ...section,
  summary: 'Lists users, newest first or by name, optionally only those that match words, a group or a status',
  input: () =>
    pageShape.extend({
      ...userFilter,
      order: z.enum(['newest', 'name']).default('newest').describe('Newest first, or by name.'),
    }),
  answer: 'UserPage',
  async handler({ store }, { input: { limit, cursor, order, q, group, status, admin } }) {
    const filter = { words: q, group, status, admin: admin === 'true' };
    return store.userSearch.find(filter, { order, limit, after: readUserCursor(order, cursor) });
  },
  view: ({ users, next, broad }) => ({
    users: users.map(userView),
    ...(next && { next_cursor: userCursorOf(next) }),
    ...(broad && { broad: true }),
  }),
  command: {
    name: 'user list',
    options: { search: 'q', group: 'group', status: 'status', admin: 'admin', order: 'order', limit: 'limit' },
    text: ({ users }) =>
      table(
        ['USERNAME', 'STATUS', 'ADMIN', 'EMAIL', 'SUB'],
        users.map((user) => [user.username, user.status, user.admin ? 'yes' : '', user.email ?? '', user.sub]),
      ),
    json: ({ users }) => users.map(userView),
  },
});

/** An invitation: the `uri` of its link if no mail was sent, and when the link expires. */
interface NewInvitation {
  uri: string | undefined;
  expiresAt: Date | undefined;
}

export const invitationView = ({ uri, expiresAt }: NewInvitation) => ({
  invitation_uri: uri,
  invitation_expires_at: expiresAt?.toISOString(),
});

const invitedText = ({ username, email }: User, { uri, expiresAt }: NewInvitation): string =>
  uri === undefined
    ? `The user ${username} is invited; the mail goes to ${email}.`
    : `${uri}\n\nIt invites ${username}, and works once, before ${expiresAt!.toISOString()}. Share it so that only the user can read it.`;

// the option sets email_verified like a claim, but it is stored beside the email
function prepareClaims({ claims, ...given }: Record<string, unknown>): Record<string, unknown> {
  const { email_verified, ...others } = (claims ?? {}) as Record<string, unknown>;
  return { ...given, claims: others, ...(email_verified !== undefined && { email_verified }) };
}

const newUserOptions = { email: 'email', claim: 'claims', attribute: 'attributes', group: 'groups', admin: 'admin' };

const createUser = operation({
  method: 'POST',
  path,
  ...section,
  summary:
    'Creates a user, and invites the user if asked to; without an invitation or a password the user cannot sign in',
  input: ({ passwordMinLength }) =>
    newUserShape(passwordMinLength)
      .extend({
        invite: z
          .boolean()
          .optional()
          .describe('Invites the user to choose a password or a passkey, by mail or by a link in the answer.'),
      })
      .refine(({ invite, password }) => !invite || password === undefined, {
        path: ['password'],
        ...rule('invited'),
      }),
  internalInput: z.object({ existing: z.boolean().describe('Invites the user of this name if there is one.') }),
  status: 201,
  answer: 'NewUser',
  async handler(
    { store, config, administration, passwords, passwordPolicy },
    { input, actor },
  ): Promise<{ user: User; invitation?: NewInvitation }> {
    const { password, claims = {}, attributes = {}, invite = false, existing: mayExist = false, ...user } = input;
    const present = mayExist ? await store.users.findByUsername(user.username) : undefined;
    if (present) {
      if (user.email !== undefined || user.groups || user.admin || Object.keys({ ...claims, ...attributes }).length > 0)
        throw conflict('there is a user of this name: invite the user without other options');
      const { uri, delivery } = newInvitation(config, present.email);
      const expiresAt = await administration.inviteUser(actor, present.sub, delivery);
      return { user: present, invitation: { uri, expiresAt } };
    }
    if (password !== undefined) await passwordPolicy(password, input);
    const invitation = invite ? newInvitation(config, user.email) : undefined;
    const made = await administration.createUser(
      actor,
      {
        username: user.username,
        email: user.email,
        confirmedBy: user.email_verified ? 'administrator' : undefined,
        passwordHash: password === undefined ? undefined : await passwords.hash(password),
        groups: user.groups,
        admin: user.admin,
        attributes,
        claims: Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== undefined)),
      },
      invitation?.delivery,
    );
    const { uri } = invitation ?? {};
    return { user: made.user, ...(invitation && { invitation: { uri, expiresAt: made.expiresAt } }) };
  },
  view: ({ user, invitation }) => ({ ...userView(user), ...(invitation && invitationView(invitation)) }),
  command: [
    {
      name: 'user create',
      summary: 'Creates a user; the password comes from standard input',
      options: { username: 'username', ...newUserOptions, 'password-stdin': 'password' },
      prepare: prepareClaims,
      text: ({ user }, { config }) =>
        `Created the user ${user.username} (sub ${user.sub}), who can sign in at ${config.issuer}/login`,
    },
    {
      name: 'user invite',
      summary:
        'Creates a user and invites the user to set a password or create a passkey, or invites an existing user who has neither; earlier invitations no longer work',
      arguments: ['username'],
      options: newUserOptions,
      prepare: (given) => ({ ...prepareClaims(given), invite: true, existing: true }),
      text: ({ user, invitation }) => invitedText(user, invitation!),
    },
  ],
});

export const showUser = operation({
  method: 'GET',
  path: `${path}/:sub`,
  ...section,
  summary: 'Shows a user',
  params: bySub,
  answer: 'User',
  handler: ({ store }, { params: { sub } }) => findUser(store, sub),
  view: userView,
  command: { name: 'user show', text: (user) => facts(userView(user)) },
});

type Change = z.infer<ReturnType<typeof userChangeShape>>;
type Changed = { user: User; changed: boolean };
const changedText = ({ user, changed }: Changed): string =>
  changed ? `Changed ${user.username}.` : `Nothing of ${user.username} changed.`;
const setStatus = (
  name: string,
  summary: string,
  status: 'enabled' | 'disabled',
  done: string,
): OperationCommand<z.infer<typeof bySub>, Change, Changed> => ({
  name,
  summary,
  options: {},
  prepare: () => ({ status }),
  text: ({ user, changed }) =>
    changed
      ? `The user ${user.username} is now ${done}.`
      : `The user ${user.username} is already ${status}: nothing changed.`,
});

export const changeUser = operation({
  method: 'PATCH',
  path: `${path}/:sub`,
  ...section,
  summary: 'Changes the given members of a user and no others; null removes the email or a claim',
  params: bySub,
  input: ({ passwordMinLength }) => userChangeShape(passwordMinLength),
  answer: 'User',
  async handler(
    { config, store, administration, passwords, passwordPolicy },
    { params: { sub }, input, actor },
  ): Promise<Changed> {
    const { password, email_verified: isConfirmed, ...change } = input;
    const confirmedBy = isConfirmed === undefined ? undefined : isConfirmed ? ('administrator' as const) : null;
    const before = (password ?? change.username) ? await store.users.find(sub) : undefined;
    // by an import alone a user has their own sub as name (security R153)
    if (
      change.username !== undefined &&
      loginKey(change.username) === loginKey(sub) &&
      change.username !== before?.username
    )
      throw invalidRequest(refusal('like-sub', 'username'));
    if (password !== undefined) await passwordPolicy(password, { ...before, ...input });
    const hash = password === undefined ? undefined : await passwords.hash(password);
    return administration.changeUser(actor, sub, { ...change, confirmedBy, guarded: guardedGroups(config) }, hash);
  },
  view: ({ user }) => userView(user),
  command: [
    // the database's trigger users_are_updated ends them, also after a change by plain SQL (migrations/functions/users_are_updated.sql)
    setStatus(
      'user disable',
      'Disables a user and ends all sessions and tokens of the user',
      'disabled',
      'disabled; all sessions and tokens of this user have ended',
    ),
    setStatus('user enable', 'Lets a disabled user sign in again', 'enabled', 'enabled'),
    {
      name: 'user make-admin',
      summary: 'Makes a user an administrator, if no link that was made automatically is undecided',
      options: {},
      prepare: () => ({ admin: true }),
      text: ({ user, changed }) =>
        changed ? `${user.username} is now an administrator.` : `${user.username} is already an administrator.`,
    },
    {
      name: 'user change',
      summary: 'Changes the user name, the address, claims, attributes, groups or the admin flag of a user',
      options: { username: 'username', ...newUserOptions },
      merged: ['claims', 'attributes'],
      prepare: prepareClaims,
      text: changedText,
    },
    {
      name: 'user set-attributes',
      summary: 'Sets attributes of a user; an empty value removes one',
      options: { attribute: 'attributes' },
      required: ['attributes'],
      merged: ['attributes'],
      text: changedText,
    },
    {
      name: 'user set-password',
      summary: 'Sets a password, which comes from standard input, and ends all sessions of the user',
      options: { 'password-stdin': 'password' },
      text: ({ user }) => `Set the password of ${user.username}; all sessions of this user have ended.`,
    },
  ],
});

export const deleteUser = operation({
  method: 'DELETE',
  path: `${path}/:sub`,
  ...section,
  summary: 'Deletes a user and everything that was issued for the user',
  params: bySub,
  handler: ({ administration }, { params: { sub }, actor }) => administration.deleteUser(actor, sub),
  command: {
    name: 'user delete',
    text: (_, { typed }) => `Deleted the user ${typed['sub']} with all sessions and tokens.`,
    json: (_, { params: { sub } }) => ({ sub }),
  },
});

const forgetFailures = operation({
  method: 'DELETE',
  path: `${path}/:sub/sign-in-failures`,
  ...section,
  summary: 'Resets the failed sign-ins of a user, who can then sign in without waiting',
  params: bySub,
  handler: ({ administration }, { params: { sub }, actor }) => administration.forgetFailures(actor, sub),
  view: ({ user }) => userView(user),
  command: {
    name: 'user forget-failures',
    text: ({ user, changed }) =>
      changed
        ? `Reset the failed sign-ins of ${user.username}.`
        : `The user ${user.username} has no failed sign-ins: nothing changed.`,
  },
});

export const userOperations = [listUsers, createUser, showUser, changeUser, deleteUser, forgetFailures];
