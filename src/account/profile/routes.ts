// Serves GET /account/profile, the stored claims of the user with the clients that see them, and GET|POST /account/profile/edit.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { type AccountSession, createAccountPages, firstPage } from '../account-pages.ts';
import { ownedOf } from '../owned.ts';
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
} from '../../rules/users/own-profile.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { attributeFields, fieldsWithAttributes, readAttributeForm } from '../../pages/attribute-fields.ts';
import type { AttributeField } from '../../pages/views/attribute-field.ts';
import { legible } from '../../pages/claim-text.ts';
import { unlessConflict } from '../../pages/refused-operations.ts';
import type { Attribute } from '../../rules/claims/attributes.ts';
import { longForm } from '../../server/form-body.ts';
import { singleValued } from '../../server/parameters.ts';
import { languages } from './languages.ts';
import { profileView, seenBy } from './view.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';

const path = '/account/profile';
const editPath = '/account/profile/edit';

/** What a refused form shows again. */
interface Trouble {
  typed: Record<string, string | undefined>;
  faults?: Partial<Record<ProfileField, ProfileFault>>;
  attributeFaults?: Record<string, AttributeField['fault']>;
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
  const account = createAccountPages(options);
  const editable = config.profileEditable;
  const fields = profileFields(editable);
  const shape = z.object({
    version: text(30),
    ...Object.fromEntries(fields.map((field) => [field, text(4096).optional()])),
  });

  account.page(app, path, async (own) => {
    const { user } = own.session;
    const [grants, attributes, owned] = await Promise.all([
      store.grants.list(user.sub, firstPage),
      store.attributes.list(),
      ownedOf(store, user),
    ]);
    const isEditable = fieldsFor(owned).length > 0 || attributes.some(isWritableBeside(owned));
    return own.send('account-profile', {
      profile: profileView(user, grants, attributes, owned),
      ...(isEditable && { editUri: editPath }),
      ...(config.profilePictures && owned['picture'] === undefined && { pictureUri: `${path}/picture` }),
    });
  });

  account.page(app, editPath, async (own) => {
    if (fields.length === 0 && (await writable()).length === 0) throw notFound('users cannot edit their profiles here');
    return show(own);
  });

  account.form(
    app,
    editPath,
    shape,
    async (own, { version, ...others }, request, reply) => {
      const { user } = own.session;
      const typed = others as Record<string, string | undefined>;
      const owned = await ownedOf(store, user);
      const { change, faults } = readOwnProfile(typed, editableFor(owned), user.claims);
      const definitions = (await writable()).filter(isWritableBeside(owned));
      // the user may set what is writable, and nothing else (federation F64)
      const values = singleValued(request.body);
      const { change: attributes, faults: attributeFaults } = readAttributeForm(definitions, values, user.claims);
      const whole = { ...values, ...typed };
      if (Object.keys(faults).length + Object.keys(attributeFaults).length > 0)
        return show(own, { typed: whole, faults, attributeFaults });
      if (Object.keys(change).length + Object.keys(attributes).length === 0) return pages.redirect(reply, path);
      // the form must not overwrite a concurrent change by another actor
      if (version !== versionOf(own.session)) return show(own, { typed: whole, problem: 'changed' });
      const saved = await unlessConflict(
        administration.changeUser(own.by, user.sub, { claims: change, ...(definitions.length > 0 && { attributes }) }),
      );
      if (saved === 'conflict') {
        const unique = definitions.filter((one) => one.unique && Object.hasOwn(attributes, one.name));
        const shared = Object.fromEntries(unique.map(({ name }) => [name, 'taken' as const]));
        return show(own, { typed: whole, attributeFaults: shared });
      }
      return own.done(path, 'profile-saved');
    },
    longForm(fieldsWithAttributes),
  );

  // what a connection owns is its alone (federation 4)
  const editableFor = (owned: Owned) => editable.filter((claim) => owned[claim] === undefined);
  const fieldsFor = (owned: Owned) => profileFields(editableFor(owned));
  const isWritable = ({ person }: Attribute) => person === 'write';
  const isWritableBeside = (owned: Owned) => (one: Attribute) => isWritable(one) && owned[one.name] === undefined;
  const writable = async () => (await store.attributes.list()).filter(isWritable);

  async function show(own: AccountSession, trouble?: Trouble): Promise<FastifyReply> {
    const { user } = own.session;
    const [all, owned] = await Promise.all([writable(), ownedOf(store, user)]);
    const attributes = all.filter(isWritableBeside(owned));
    const see = seenBy(await store.grants.list(user.sub, firstPage));
    const form = own.form(editPath);
    form.hidden['version'] = versionOf(own.session);
    const data: Omit<Pages['account-profile-edit'], 'account' | 'accountUri'> = {
      form,
      profileUri: path,
      maxLength: maxFieldLength,
      ...(attributes.length > 0 && {
        attributes: attributeFields(attributes, user.claims, trouble?.typed, trouble?.attributeFaults),
      }),
      kept: [
        ...editable.map((claim) => ({ name: claim, label: undefined })),
        ...all.map(({ name, label }) => ({ name, label })),
      ]
        .filter(({ name }) => owned[name] !== undefined)
        .map(({ name, label }) => ({
          ...legible(name, user.claims[name] ?? ''),
          by: owned[name]!,
          ...(label && { label }),
        })),
      fields: fieldsFor(owned).map((field) => {
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
    return own.send('account-profile-edit', data, { status: trouble ? 400 : 200 });
  }
}

type Owned = Readonly<Record<string, string>>;

const versionOf = ({ user }: Session): string => String(user.updatedAt.getTime());
