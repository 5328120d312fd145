// Adds the rules of sign-up links to their creation and change: they give no power, and end. The creation makes the link itself (pages, sign-up links).
import type { Config } from '../../config.ts';
import { maxSignUpLinkLifetime, signUpLinks } from '../../entities/sign-up-links.ts';
import { conflict, invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';
import { entityAdministration } from './entities.ts';
import { guardedGroups } from './guarded-groups.ts';

/** Refuses groups that give power, and keeps the others until the transaction ends. @throws OAuthError */
async function requirePowerless(
  repositories: Repositories,
  groups: readonly string[],
  guarded: readonly string[],
): Promise<void> {
  for (const group of [...groups].sort())
    if (!(await repositories.groups.keep(group))) throw invalidRequest(refusal('unknown', 'groups'));
  const group = groups.find((each) => guarded.includes(each)) ?? (await repositories.signUpLinks.groupWithRole(groups));
  if (group !== undefined) throw conflict(refusal('sign-up-group', 'groups', { group }));
}

export const signUpLinkAdministration = (store: Store, config: Config) =>
  entityAdministration(store, signUpLinks, {
    repository: (repositories) => repositories.signUpLinks,
    taken: refusal('sign-up-link.exists', 'name'),
    facts: ({ id, name, groups, domain, uses, expiresAt }, act) => ({
      detail: {
        sign_up_link: id,
        name,
        ...(act === 'created' && { groups, domain, uses, expires_at: expiresAt.toISOString() }),
      },
    }),
    async check(repositories, { groups, expiresAt }, members) {
      const left = expiresAt.getTime() - Date.now();
      if (members.includes('expires_at') && !(left > 0 && left <= maxSignUpLinkLifetime))
        throw invalidRequest(refusal('sign-up-end', 'expires_at'));
      if (members.includes('groups')) await requirePowerless(repositories, groups, guardedGroups(config));
    },
    // a link that has a token keeps it
    async stored(repositories, { id }) {
      const { token, hash } = newOpaqueToken('sign_up_link');
      if (!(await repositories.signUpLinks.keepToken(hash, id))) return {};
      return { uri: `${config.issuer}/sign-up/link?token=${token}` };
    },
  });
