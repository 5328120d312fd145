// Serves the console's pages that search users, and show one with the operations that need no confirmation.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Authenticator, kindOf } from '../../../authenticators/authenticator.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { eventRows } from '../linked-names.ts';
import { userCursorOf } from '../../../domain/administration/paging.ts';
import { legible } from '../../../pages/claim-text.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { ConsoleFrame } from '../../../pages/views/console.ts';
import type { ConsoleUsersPages } from '../../../pages/views/console-users.ts';
import { groupName } from '../../../rules/users/administration.ts';
import { namedClaims } from '../../../rules/claims/claims.ts';
import { invalidRequest } from '../../../oauth/errors.ts';
import { withdrawGrant } from '../../operations/grants.ts';
import { changeMembers } from '../../operations/groups.ts';
import { inviteUser, revokeInvitation } from '../../operations/invitations.ts';
import { changeUser, listUsers, showUser } from '../../operations/users.ts';
import { findKnownGroup, userPage, usesOfUsers } from '../../operations/pages/users.ts';
import { faultOf, type Refusal } from '../../../oauth/refusals.ts';
import type { RefusedView } from '../../../pages/views/parts.ts';
import { refusedView } from '../refused.ts';
import { answerInvitation, type Invited } from './invitation.ts';
import { lineOf, listPath, pathOf, queryOfFilter, readFilter, shownFilter } from './view.ts';
import type { Config } from '../../../config.ts';

const pageSize = 50;

interface ConsoleUsersDependencies {
  config: Config;
  authenticators: readonly Authenticator[];
  console: Console;
}

export async function consoleUsersEndpoint(app: FastifyInstance, options: ConsoleUsersDependencies): Promise<void> {
  const { config, authenticators, console } = options;

  const subOf = (request: FastifyRequest) => (request.params as { sub: string }).sub;

  const showList = async (admin: AdminSession, request: FastifyRequest) => {
    const given = singleValued(request.query);
    const order = given['order'] === 'name' ? 'name' : 'newest';
    const filter = readFilter(given);
    const shown = shownFilter(filter);
    const { cursor } = given;
    const { words: q, group, status, admin: onlyAdmins } = filter;
    const input = {
      order,
      limit: pageSize,
      cursor,
      q,
      group,
      status,
      ...(onlyAdmins && { admin: 'true' as const }),
    } as const;
    const found = await admin.run(listUsers, {}, input);
    const uses = await admin.run(
      usesOfUsers,
      found.users.map(({ sub }) => sub),
    );
    const ordered = (by: typeof order) => `${listPath}?${new URLSearchParams({ ...queryOfFilter(filter), order: by })}`;
    const data: Omit<ConsoleUsersPages['console-users'], keyof ConsoleFrame> = {
      filter: { ...shown, order },
      importUri: `${listPath}/import`,
      exportUri: `${listPath}/export?${new URLSearchParams(queryOfFilter(filter))}`,
      users: found.users.map((user) => lineOf(user, uses.get(user.sub))),
      sort: {
        username: { uri: ordered('name'), ...(order === 'name' && { now: 'ascending' }) },
        created: { uri: ordered('newest'), ...(order === 'newest' && { now: 'descending' }) },
      },
      broad: found.broad,
      ...(cursor !== undefined && { first: ordered(order) }),
      ...(found.next && { next: `${ordered(order)}&cursor=${userCursorOf(found.next)}` }),
    };
    return admin.send('console-users', data, { section: 'users' });
  };

  console.page(app, '/admin/users', showList, { needs: listUsers });

  async function show(
    admin: AdminSession,
    trouble?: Pick<ConsoleUsersPages['console-user'], 'problem' | 'refused' | 'typedGroup'>,
  ): Promise<FastifyReply> {
    const { user, events, names, ...found } = await admin.run(userPage, subOf(admin.request));
    const { sub } = user;
    const { sessions, grants, factors, recoveryCodes, memberships, invitation, connections } = found;
    const labels = Object.fromEntries(found.attributes.map(({ name, label }) => [name, label]));
    const isInvitable = user.status === 'enabled' && user.passwordHash === undefined && factors.length === 0;
    const removeUri = `${pathOf(user)}/second-factors/remove`;
    return admin.send(
      'console-user',
      {
        user: {
          ...lineOf(user),
          emailVerified: user.emailVerified,
          hasPassword: user.passwordHash !== undefined,
          updatedAt: user.updatedAt,
        },
        claims: Object.entries(namedClaims(user, Object.keys(user.claims)))
          .map(([claim, value]) => ({
            ...legible(claim, value),
            ...(Object.hasOwn(labels, claim) && { label: labels[claim]! }),
          }))
          .filter(({ value }) => value !== ''),
        groups: user.groups.map((name) => ({
          name,
          uri: `/admin/groups/${encodeURIComponent(name)}`,
          sources: memberships.get(name) ?? [],
        })),
        sessions: { count: sessions.length, uri: `/admin/sessions?${new URLSearchParams({ sub })}` },
        grants: grants.map(({ clientId, clientName, createdAt }) => ({ clientId, clientName, createdAt })),
        factors: factors.map((factor) => ({
          kind: kindOf(authenticators, factor),
          name: factor.name,
          createdAt: factor.createdAt,
          ...(factor.usedAt && { usedAt: factor.usedAt }),
          removeUri: `${removeUri}?${new URLSearchParams({ id: factor.id })}`,
        })),
        recoveryCodes,
        ...(connections && { connections: { names: connections, uri: `${pathOf(user)}/connections` } }),
        ...(isInvitable && {
          invitation: {
            byMail: config.smtpUrl !== undefined && user.email !== undefined,
            ...(invitation && { pending: invitation }),
          },
        }),
        // an invitation that was revoked can be sent again
        form: admin.repeatableForm(pathOf(user)),
        editUri: `${pathOf(user)}/edit`,
        accessUri: `${pathOf(user)}/access`,
        passwordUri: `${pathOf(user)}/password`,
        removeUri,
        endUri: `/admin/sessions/end?${new URLSearchParams({ sub })}`,
        events: eventRows(names, events),
        auditUri: `/admin/audit?${new URLSearchParams({ sub: user.sub })}`,
        ...trouble,
      },
      { section: 'users', status: trouble ? 400 : 200 },
    );
  }

  console.page(app, '/admin/users/:sub', (admin) => show(admin), { needs: userPage });

  app.post('/admin/users/:sub', async (request, reply) => {
    const path = pathOf({ sub: subOf(request) });
    const body = singleValued(request.body);
    const act = body['act'] ?? '';
    // an operation that only ends what can be started again must never wait
    const ends = ['withdraw', 'revoke-invitation'].includes(act);
    const admin = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action: path,
      back: path,
      fresh: !ends,
      needs: changeUser,
    });
    if (!admin) return reply;
    const user = await admin.run(showUser, { sub: subOf(request) });
    const { sub } = user;
    const name = body['group'] ?? '';
    if (act === 'invite') {
      const invited = await admin.once<Invited>(async () => {
        const made = await admin.perform(inviteUser, { sub });
        if ('refused' in made) return { refused: () => show(admin, { problem: 'invitable' }) };
        const { uri, expiresAt } = made.done;
        return { uri, until: expiresAt?.getTime() };
      });
      if ('refused' in invited) return invited.refused();
      return answerInvitation(config, admin, user, invited, false);
    }
    if (act === 'revoke-invitation') {
      await admin.run(revokeInvitation, { sub });
      return admin.done(path, 'invitation-revoked');
    }
    if (act === 'withdraw') await admin.run(withdrawGrant, { sub, client_id: body['client_id'] ?? '' });
    else if (act === 'leave') await admin.run(changeMembers, { name }, { remove: [sub] });
    else if (act === 'join') {
      const refused = await join(admin, sub, name);
      if (refused) return show(admin, { refused, typedGroup: name });
    } else if (act === 'enable') await admin.run(changeUser, { sub }, { status: 'enabled' });
    else throw invalidRequest('there is no such action');
    return admin.done(path, 'user-saved');
  });

  /** Adds a user to an existing group, and keeps concurrent changes of the groups. */
  async function join(admin: AdminSession, sub: string, typed: string): Promise<RefusedView | undefined> {
    const refused = (refusal: Pick<Refusal, 'code' | 'params'>) =>
      refusedView({ ...refusal, member: 'group' }, ['group']);
    const group = groupName.safeParse(typed);
    if (!group.success) return refused(faultOf(group.error.issues[0]!));
    if (!(await admin.run(findKnownGroup, group.data))) return refused({ code: 'unknown' });
    const joined = await admin.perform(changeMembers, { name: group.data }, { add: [sub] });
    if ('refused' in joined) return refused(joined.refused);
    const { added, unchanged } = joined.done;
    if (added.length > 0 || unchanged.length === 0) return undefined;
    return (await admin.run(showUser, { sub })).groups.includes(group.data) ? undefined : refused({ code: 'entries' });
  }
}
