// Serves GET /account, the overview of the account, and GET /account/security, the sign-in methods.
import type { FastifyInstance } from 'fastify';
import { createAccountPages, firstPage } from '../account-pages.ts';
import { browserAndSystem } from '../../domain/browser-name.ts';
import { signInMethods } from './methods.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';

/** How many devices and applications are named. */
const named = 3;

interface AccountDependencies {
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountEndpoint(app: FastifyInstance, options: AccountDependencies): Promise<void> {
  const { store } = options;
  const account = createAccountPages(options);

  account.page(app, '/account', async (own) => {
    const { user } = own.session;
    const [grants, live, methods] = await Promise.all([
      store.grants.list(user.sub, firstPage),
      store.sessions.list({ sub: user.sub }, firstPage),
      signInMethods(store, user),
    ]);
    const recent = [...live].sort((a, b) => b.usedAt.getTime() - a.usedAt.getTime());
    return own.send('account', {
      email: user.email,
      ...(user.email !== undefined &&
        !user.emailVerified && {
          verificationForm: own.form('/account/email/verification'),
        }),
      methods: methods.filter(({ set }) => set).map(({ method }) => method),
      devices: recent.slice(0, named).map(({ userAgent }) => browserAndSystem(userAgent)),
      moreDevices: Math.max(0, recent.length - named),
      applications: grants.slice(0, named).map(({ clientName }) => clientName),
      moreApplications: Math.max(0, grants.length - named),
      profileUri: '/account/profile',
      securityUri: '/account/security',
      sessionsUri: '/account/sessions',
      applicationsUri: '/account/applications',
      dataUri: '/account/data',
      logoutUri: '/logout',
    });
  });

  account.page(app, '/account/security', async (own) => {
    return own.send('account-security', {
      methods: await signInMethods(store, own.session.user),
    });
  });
}
