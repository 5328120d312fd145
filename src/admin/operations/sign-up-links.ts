// Declares the operations on sign-up links: those that every entity has. Only the answer to the creation has the link itself.
import { type SignUpLink, signUpLinks } from '../../entities/sign-up-links.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import { signUpLinkAdministration } from '../../domain/administration/sign-up-links.ts';
import { entityOperations } from './entities.ts';
import type { OperationContext } from './operation.ts';

/** The database does not know which groups are guarded: the settings say it. */
function stated<Link extends SignUpLink | undefined>({ config }: Pick<OperationContext, 'config'>, link: Link): Link {
  const isGuarded = link?.groups.some((group) => guardedGroups(config).includes(group));
  return isGuarded && link?.state === 'open' ? { ...link, state: 'power' } : link;
}

export const signUpLinkActs = entityOperations(signUpLinks, {
  says: {
    list: 'Lists sign-up links, newest first; none has the link itself',
    create: 'Creates a sign-up link, by which several users create their own accounts; only this answer has the link',
    show: 'Shows a sign-up link without the link itself',
    change: 'Changes a sign-up link; the link itself stays',
    delete: 'Deletes a sign-up link, which no longer works; the accounts that it created stay',
  },
  named: 'The id, or the name.',
  answers: { one: 'SignUpLink', page: 'SignUpLinkPage' },
  columns: {
    NAME: ({ name }) => name,
    STATE: ({ state }) => state,
    USED: ({ used, uses }) => `${used}/${uses}`,
    EXPIRES: ({ expiresAt }) => expiresAt.toISOString(),
    DOMAIN: ({ domain }) => domain ?? '',
    GROUPS: ({ groups }) => groups.join(', '),
  },
  done: {
    create: ({ name, uri }) => `Created the sign-up link ${name}. It is shown once: hand it over.\n${uri}`,
    change: ({ name }) => `Changed the sign-up link ${name}.`,
    delete: ({ name }) => `Deleted the sign-up link ${name}.`,
  },
  repository(context) {
    const { signUpLinks: links } = context.store;
    return {
      find: async (name) => stated(context, await links.find(name)),
      list: async (page) => (await links.list(page)).map((link) => stated(context, link)),
    };
  },
  administration(context) {
    const changes = signUpLinkAdministration(context.store, context.config);
    return { ...changes, change: async (...call) => stated(context, await changes.change(...call)) };
  },
});
