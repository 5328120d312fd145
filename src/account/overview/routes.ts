// Serves GET /account, the overview of the account, and GET /account/security, the sign-in methods.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type AccountSession, createAccountPages, firstPage } from '../account-pages.ts';
import { tilesOf } from '../tiles.ts';
import type { Config } from '../../config.ts';
import { browserAndSystem } from '../../domain/sessions/browser-name.ts';
import { isUnprotected, signInMethods } from './methods.ts';
import type { ConnectionDirectory } from '../../repositories/connections/connection-directory.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import { alsoHead } from '../../server/head.ts';
import { clientAddress } from '../../server/network.ts';
import type { SignInMethod } from '../../pages/views/account.ts';
import type { Pages } from '../../pages/views/index.ts';

/** How many devices and applications are named. */
const named = 3;
/** From how many recovery codes on the user needs no new ones. */
const enoughRecoveryCodes = 3;

interface AccountDependencies {
  config: Config;
  store: Store;
  connections: ConnectionDirectory;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountEndpoint(app: FastifyInstance, options: AccountDependencies): Promise<void> {
  const { config, store, connections } = options;
  const account = createAccountPages(options);

  const overview = async (own: AccountSession, request: FastifyRequest) => {
    const { user } = own.session;
    const from = { address: clientAddress(request) };
    const [grants, live, methods, hasStart, waiting] = await Promise.all([
      store.grants.list(user.sub, firstPage),
      store.sessions.list({ sub: user.sub }, firstPage),
      signInMethods(store, user, connections),
      config.startPage || tilesOf(store, config.issuer, user, from).then((tiles) => tiles.length > 0),
      config.ciba ? store.backchannelRequests.count(user.sub) : 0,
    ]);
    const recent = [...live].sort((a, b) => b.usedAt.getTime() - a.usedAt.getTime());
    return own.send('account', {
      email: user.email,
      ...(user.email !== undefined &&
        !user.emailVerified && {
          verificationForm: own.form('/account/email/verification'),
        }),
      attention: [
        ...(waiting > 0 ? [{ kind: 'requests', uri: '/account/requests', count: waiting } as const] : []),
        ...attentionOf(methods),
      ],
      methods: methods.filter(({ set, left }) => set && left === undefined).map(({ method }) => method),
      devices: recent.slice(0, named).map(({ userAgent }) => browserAndSystem(userAgent)),
      moreDevices: Math.max(0, recent.length - named),
      applications: grants.slice(0, named).map(({ clientName }) => clientName),
      moreApplications: Math.max(0, grants.length - named),
      profileUri: '/account/profile',
      securityUri: '/account/security',
      sessionsUri: '/account/sessions',
      applicationsUri: '/account/applications',
      dataUri: '/account/data',
      ...(hasStart && { startUri: '/account/start' }),
      ...(user.admin && { consoleUri: '/admin' }),
      switchAccountUri: '/login/accounts',
      logoutUri: '/logout',
    });
  };

  account.page(app, '/account', overview, alsoHead);
  account.page(app, '/account/security', async (own) => {
    const methods = await signInMethods(store, own.session.user, connections);
    return own.send('account-security', { methods, unprotected: isUnprotected(methods) });
  });
}

/** What the user should do about the sign-in: recovery codes count only beside a password. */
function attentionOf(methods: readonly SignInMethod[]): Pages['account']['attention'] {
  if (isUnprotected(methods)) return [{ kind: 'unprotected', uri: '/account/security', count: 0 }];
  const hasPassword = methods.some(({ method, set }) => method === 'password' && set);
  return methods.flatMap(({ method, uri, left = 0 }) =>
    hasPassword && method === 'recovery-codes' && left < enoughRecoveryCodes
      ? [{ kind: 'recovery-codes', uri, count: left }]
      : [],
  );
}
