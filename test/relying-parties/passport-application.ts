// Runs an application of passport: the part that is the same for every strategy.
import type { IncomingMessage, ServerResponse } from 'node:http';
import session from 'express-session';
import passport from 'passport';
import { listen, redirect, send } from '../../demo/web.ts';
import { issuer, port, url } from './environment.ts';
import { homePage, signedOutPage, type Visitor } from './pages.ts';

/** The user of the session. */
export interface User extends Visitor {
  idToken: string;
}

type Middleware = (request: PassportRequest, response: ServerResponse, next: (error?: unknown) => void) => void;
type PassportRequest = IncomingMessage & {
  user?: User;
  protocol: string;
  query: Record<string, string>;
  logout(done: (error?: unknown) => void): void;
};

/**
 * @param strategy the name under which passport knows the strategy
 * @param endSessionUrl where a browser is sent to sign out of the provider
 */
export async function serveWithPassport(strategy: string, endSessionUrl: (user: User) => URL): Promise<void> {
  passport.serializeUser((user: User, done: (error: unknown, user: User) => void) => done(null, user));
  passport.deserializeUser((user: User, done: (error: unknown, user: User) => void) => done(null, user));
  const sessions: Middleware[] = [
    session({ secret: 'a test has no secrets to keep', resave: false, saveUninitialized: false }) as Middleware,
    passport.session() as Middleware,
  ];
  const authenticate = passport.authenticate(strategy) as Middleware;

  await listen({
    name: strategy,
    port,
    issuer,
    explain: (error) => String(error),
    routes: {
      async 'GET /'(plain, response) {
        const request = await prepare(plain, response);
        if (request.user) send(response, 200, homePage(request.user, { refreshes: false }));
        else await run(authenticate, request, response);
      },
      async 'GET /callback'(plain, response) {
        const request = await prepare(plain, response);
        await run(authenticate, request, response);
        if (!response.writableEnded) redirect(response, '/');
      },
      async 'POST /sign-out'(plain, response) {
        const request = await prepare(plain, response);
        const { user } = request;
        if (!user) return redirect(response, '/');
        await new Promise<void>((resolve, reject) => {
          request.logout((error) => (error ? reject(error as Error) : resolve()));
        });
        redirect(response, endSessionUrl(user).href);
      },
      'GET /signed-out': (_, response) => send(response, 200, signedOutPage),
    },
  });

  /** What Express and its session middleware would add to a request. */
  async function prepare(plain: IncomingMessage, response: ServerResponse): Promise<PassportRequest> {
    const { searchParams } = new URL(plain.url ?? '/', url);
    const request = Object.assign(plain, {
      protocol: 'http',
      query: Object.fromEntries(searchParams),
    }) as PassportRequest;
    for (const middleware of sessions) await run(middleware, request, response);
    return request;
  }
}

/** Runs a middleware until it calls the next one or has answered. */
function run(middleware: Middleware, request: PassportRequest, response: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    response.once('close', resolve);
    middleware(request, response, (error) => (error ? reject(error as Error) : resolve()));
  });
}
