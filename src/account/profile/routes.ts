// Serves GET /account/profile, the stored claims of the user with the clients that see them, and GET|POST /account/profile/edit.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createAccountPageHelper, ownActor } from '../account-pages.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import type { Pages } from '../../pages/views/index.ts';
import { notFound } from '../../oauth/errors.ts';
import {
  fieldValue,
  isAddressField,
  maxFieldLength,
  profileFields,
  readOwnProfile,
  type ProfileFault,
  type ProfileField,
} from '../../oauth/own-profile.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { languages } from './languages.ts';
import { profileView, seenBy } from './view.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';

const path = '/account/profile';
const editPath = '/account/profile/edit';

const most = { limit: 200, after: undefined };

/** What a refused form shows again. */
interface Trouble {
  typed: Record<string, string | undefined>;
  faults?: Partial<Record<ProfileField, ProfileFault>>;
  problem?: 'changed';
}

interface AccountProfileDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountProfileEndpoint(app: FastifyInstance, options: AccountProfileDependencies): Promise<void> {
  const { config, store, pages } = options;
  const administration = createAdministration(store);
  const helper = createAccountPageHelper(options);
  const editable = config.profileEditable;
  const fields = profileFields(editable);
  const shape = z.object({
    csrf: text(100),
    version: text(30),
    ...Object.fromEntries(fields.map((field) => [field, text(4096).optional()])),
  });

  app.get(path, async (request, reply) => {
    const session = await helper.enter(request, reply);
    if (!session) return reply;
    const grants = await store.grants.list(session.user.sub, most);
    return helper.send(request, reply, session, 'account-profile', {
      profile: profileView(session.user, grants),
      ...(fields.length > 0 && { editUri: editPath }),
    });
  });

  app.get(editPath, async (request, reply) => {
    const session = await helper.enter(request, reply);
    if (!session) return reply;
    if (fields.length === 0) throw notFound('nothing of a profile is changed here');
    return show(request, reply, session);
  });

  app.post(editPath, async (request, reply) => {
    const { csrf, version, ...typed } = readParameters(shape, request.body) as Record<string, string | undefined>;
    const session = await helper.submitted(request, reply, { csrf, action: editPath });
    if (!session) return reply;
    const { user } = session;
    const { change, faults } = readOwnProfile(typed, editable, user.claims);
    if (Object.keys(faults).length > 0) return show(request, reply, session, { typed, faults });
    if (Object.keys(change).length === 0) return pages.redirect(reply, path);
    // the form must not overwrite a concurrent change by another actor
    if (version !== versionOf(session)) return show(request, reply, session, { typed, problem: 'changed' });
    await administration.changeUser(ownActor(request, session), user.sub, { claims: change });
    return helper.done(reply, path, 'profile-saved');
  });

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    trouble?: Trouble,
  ): Promise<FastifyReply> {
    const { user } = session;
    const see = seenBy(await store.grants.list(user.sub, most));
    const form = helper.form(request, reply, session, editPath);
    form.hidden['version'] = versionOf(session);
    const data: Omit<Pages['account-profile-edit'], 'account' | 'accountUri'> = {
      form,
      profileUri: path,
      maxLength: maxFieldLength,
      fields: fields.map((field) => {
        const value = trouble ? (trouble.typed[field] ?? '') : fieldValue(user.claims, field);
        const fault = trouble?.faults?.[field];
        return {
          field,
          value,
          seenBy: see(isAddressField(field) ? 'address' : field),
          ...(field === 'locale' && { choices: languages(value) }),
          ...(fault && { fault }),
        };
      }),
      ...(trouble?.problem && { problem: trouble.problem }),
    };
    return helper.send(request, reply, session, 'account-profile-edit', data, { status: trouble ? 400 : 200 });
  }
}

const versionOf = ({ user }: Session): string => String(user.updatedAt.getTime());
