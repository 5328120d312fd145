// Serves the console's pages about sign-up links. The page after the creation shows the link once.
import { signUpLinks } from '../../../entities/sign-up-links.ts';
import { signUpLinkActs } from '../../operations/sign-up-links.ts';
import { entityPages } from '../entity-pages.ts';

export const signUpLinkPages = entityPages(signUpLinks, signUpLinkActs, {
  related: ['users'],
  cells: ({ used, uses, expires_at: end, state }) => [
    { member: 'used', text: `${String(used)} / ${String(uses)}`, ltr: true },
    { member: 'expires_at', at: new Date(String(end)) },
    { member: 'state', tags: [`state.${String(state)}`] },
  ],
  made(admin, { name, uri = '', uses, expiresAt: end }) {
    // the second request of a double click has it as JSON
    const expiresAt = new Date(end);
    const lifetime = Math.ceil((expiresAt.getTime() - Date.now()) / 1000);
    const link = { username: name, userUri: '/admin/sign-up-links', of: 'sign-up-link', uri } as const;
    return admin.send('console-user-link', { ...link, lifetime, expiresAt, uses }, { section: 'users' });
  },
});
