// Serves the console's forms that create and change a user. A form that is sent twice creates one user.
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Refused } from '../../../browser/form-outcomes.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { newInvitation } from '../../../domain/administration/invitations.ts';
import { createPasswordChoice } from '../../../domain/passwords/password-choice.ts';
import { longForm } from '../../../server/form-body.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import { unlessConflict } from '../../../pages/refused-operations.ts';
import type { ConsoleUsersPages } from '../../../pages/views/console-users.ts';
import { maxPasswordLength } from '../../../rules/users/administration.ts';
import {
  changeTypedUser,
  createTypedUser,
  findKnownUser,
  takenLogins,
  userToEdit,
} from '../../operations/pages/users.ts';
import type { Attribute } from '../../../rules/claims/attributes.ts';
import type { User } from '../../../repositories/users/users.ts';
import { type Faults, groupsOf, type Typed } from '../form.ts';
import { newUserForm, readUserForm, typedOfUser, userForm } from './fields.ts';
import { answerInvitation, type Invited } from './invitation.ts';
import { attributeFields, fieldsWithAttributes, readAttributeForm } from '../../../pages/attribute-fields.ts';
import type { AttributeField } from '../../../pages/views/attribute-field.ts';
import { listPath, pathOf } from './view.ts';
import type { Config } from '../../../config.ts';
import type { PasswordQueue } from '../../../domain/rate-limits/password-queue.ts';
import type { PasswordPolicy } from '../../../domain/passwords/password-policy.ts';

const newPath = `${listPath}/new`;
const bySub = z.object({ sub: text(255) });
const ofNew = z.object({ csrf: text(100).optional(), sub: z.uuid() });
const ofOld = z.object({ csrf: text(100).optional(), version: z.string().regex(/^\d{1,15}$/) });

const inUse = { code: 'in-use' } as const;

/** Why a form was refused. */
interface Trouble {
  typed: Typed;
  faults: Faults;
  attributeFaults?: Record<string, AttributeField['fault']>;
  passwordFault?: ConsoleUsersPages['console-user-edit']['passwordFault'];
  problem?: ConsoleUsersPages['console-user-edit']['problem'];
  status: number;
}

interface EditRoutesDependencies {
  config: Config;
  passwords: PasswordQueue;
  passwordPolicy: PasswordPolicy;
  console: Console;
}

export async function userEditRoutes(app: FastifyInstance, options: EditRoutesDependencies): Promise<void> {
  const { console, config } = options;
  const passwords = createPasswordChoice(options);
  const subOf = (request: FastifyRequest) => readParameters(bySub, request.params).sub;

  console.page(app, newPath, (admin) => show(admin, undefined, randomUUID()), { fresh: true, needs: createTypedUser });

  app.post(newPath, async (request, reply) => {
    const { csrf, sub } = readParameters(ofNew, request.body);
    const admin = await console.submitted(request, reply, {
      csrf,
      action: newPath,
      shown: sub,
      back: newPath,
      fresh: true,
      needs: createTypedUser,
    });
    if (!admin) return reply;
    const made = await admin.once(() => make(admin, sub));
    if ('refused' in made) return made.refused();
    const { username, invited } = made;
    return invited
      ? answerInvitation(config, admin, { sub, username }, invited, true)
      : admin.done(pathOf({ sub }), 'user-made');
  });

  /** Creates a user with the id that the form was made with. */
  async function make(
    admin: AdminSession,
    sub: string,
  ): Promise<Refused | { username: string; invited: Invited | undefined }> {
    const isMade = { refused: () => admin.done(pathOf({ sub }), 'user-made') };
    // the form was sent before: its user exists
    if (await admin.run(findKnownUser, sub)) return isMade;
    const typed = singleValued(admin.request.body);
    const { change, faults } = readUserForm(newUserForm, typed);
    const { username = '', email } = change;
    const invited = typed['access'] !== 'password';
    const passwordFault = invited ? undefined : await passwords.faultOf(typed['password'], { username, email });
    const trouble = (more: Partial<Trouble>): Refused => ({
      refused: () =>
        show(admin, undefined, sub, {
          typed,
          faults,
          status: 400,
          ...(passwordFault && { passwordFault }),
          ...more,
        }),
    });
    if (passwordFault || Object.keys(faults).length > 0) return trouble({});
    const passwordHash = invited ? undefined : await passwords.hash(typed['password']!);
    if (!invited && passwordHash === undefined) return trouble({ problem: 'busy', status: 503 });
    const { confirmedBy, claims } = change;
    const invitation = invited ? newInvitation(config, email ?? undefined) : undefined;
    const user = {
      sub,
      username,
      email: email ?? undefined,
      confirmedBy: confirmedBy ?? undefined,
      claims,
      passwordHash,
    };
    const made = await unlessConflict(admin.run(createTypedUser, { user, delivery: invitation?.delivery }));
    if (made === 'conflict') {
      if (await admin.run(findKnownUser, sub)) return isMade;
      return trouble({ ...(await taken(admin, username, email)), status: 409 });
    }
    const { user: created, expiresAt } = made.done;
    const link = invitation && { uri: invitation.uri, until: expiresAt?.getTime() };
    return { username: created.username, invited: link };
  }

  console.page(
    app,
    `${listPath}/:sub/edit`,
    async (admin, request) => {
      const of = await admin.run(userToEdit, subOf(request));
      return show(admin, of, versionOf(of.user));
    },
    { fresh: true, needs: changeTypedUser },
  );

  app.post(`${listPath}/:sub/edit`, longForm(fieldsWithAttributes), async (request, reply) => {
    const { csrf, version } = readParameters(ofOld, request.body);
    const sub = subOf(request);
    const action = `${pathOf({ sub })}/edit`;
    const admin = await console.submitted(request, reply, {
      csrf,
      action,
      shown: version,
      back: action,
      fresh: true,
      needs: changeTypedUser,
    });
    if (!admin) return reply;
    const of = await admin.run(userToEdit, sub);
    const { user, definitions } = of;
    const typed = singleValued(request.body);
    const { change, faults } = readUserForm(userForm, typed, user);
    const { change: attributes, faults: attributeFaults } = readAttributeForm(definitions, typed, user.claims);
    if (Object.keys(faults).length + Object.keys(attributeFaults).length > 0)
      return show(admin, of, version, { typed, faults, attributeFaults, status: 400 });
    const saved = await unlessConflict(admin.run(changeTypedUser, { sub, change: { ...change, attributes, version } }));
    if (saved !== 'conflict') return admin.done(pathOf(user), 'user-saved');
    // the form shows the present user again, with the typed values
    const now = await admin.run(userToEdit, sub);
    const nowVersion = versionOf(now.user);
    const reason =
      nowVersion === version
        ? await taken(admin, change.username, change.email, sub)
        : { faults: {}, problem: 'changed' as const };
    const unique = definitions.filter((one) => one.unique && Object.hasOwn(attributes, one.name));
    if (reason.problem === 'changed' && nowVersion === version && unique.length > 0) {
      const shared = Object.fromEntries(unique.map(({ name }) => [name, 'taken' as const]));
      return show(admin, now, version, { typed, faults: {}, attributeFaults: shared, status: 409 });
    }
    return show(admin, now, nowVersion, { typed, ...reason, status: 409 });
  });

  /** The fields, user name or email, whose texts name another user or a client. */
  async function taken(
    admin: AdminSession,
    username: string | undefined,
    email: string | null | undefined,
    sub?: string,
  ): Promise<Pick<Trouble, 'faults' | 'problem'>> {
    const [byName, byEmail] = await admin.run(takenLogins, { logins: [username, email], sub });
    if (!byName && !byEmail) return { faults: {}, problem: 'changed' };
    return { faults: { ...(byName && { username: inUse }), ...(byEmail && { email: inUse }) } };
  }

  /** @param shown the version to which the form is bound, or the sub that a new user gets */
  function show(
    admin: AdminSession,
    { user, definitions }: { user?: User; definitions: readonly Attribute[] } = { definitions: [] },
    shown: string,
    trouble?: Trouble,
  ): FastifyReply {
    const action = user ? `${pathOf(user)}/edit` : newPath;
    const fields = user ? userForm : newUserForm;
    const form = admin.form(action, shown);
    form.hidden[user ? 'version' : 'sub'] = shown;
    return admin.send(
      'console-user-edit',
      {
        ...(user
          ? { user: { username: user.username, uri: pathOf(user) } }
          : {
              access: {
                chosen: trouble?.typed['access'] === 'password' ? 'password' : 'invite',
                byMail: config.smtpUrl !== undefined,
                lifetime: config.lifetimes.invitation,
                least: config.passwordMinLength,
                most: maxPasswordLength,
              },
            }),
        form,
        groups: groupsOf(fields, trouble?.typed ?? typedOfUser(fields, user), trouble?.faults),
        ...(definitions.length > 0 && {
          attributes: attributeFields(definitions, user!.claims, trouble?.typed, trouble?.attributeFaults),
        }),
        ...(trouble?.passwordFault && { passwordFault: trouble.passwordFault }),
        ...(trouble?.problem && { problem: trouble.problem }),
      },
      { section: 'users', status: trouble?.status ?? 200 },
    );
  }
}

/** Changes with every change of the user. */
const versionOf = (user: User): string => String(user.updatedAt.getTime());
