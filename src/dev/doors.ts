// Serves POST /dev/sign-in, /dev/sign-out, /dev/device and /dev/time, the doors of `gatehouse dev`: no other start knows this file (delivery 5).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { equalSecrets, randomSecret } from '../crypto/secrets.ts';
import { withMethods } from '../interaction/sign-in.ts';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import type { User } from '../repositories/users/users.ts';
import { jsonErrors, noStore } from '../server/errors.ts';
import { onlyJson } from '../server/form-body.ts';
import type { buildServices } from '../services.ts';
import { checkMethods, deviceShape, read, sessionShape, signInShape, signOutShape, timeShape } from './shapes.ts';
import { type End, VirtualBrowser, type Visit } from './virtual-browser.ts';

type Services = Awaited<ReturnType<typeof buildServices>>;

export interface DoorOptions {
  /** What every request carries as a bearer token, where the service listens on other addresses than a loopback. */
  token: string | undefined;
  /** Makes the stored rows older. */
  age(seconds: number): Promise<number>;
}

const sessionDoor = '/dev/session';
const isLoopback = (address = ''): boolean => /^(127\.|::1$|::ffff:127\.)/.test(address);
const stoppedAt = ({ stopped, status, title }: Extract<End, { stopped: string }>): string =>
  `the browser stopped at ${stopped} (${status}): ${title}`;

/** @returns adds the doors to an application */
export function createDoors({ token, age }: DoorOptions) {
  return async (app: FastifyInstance, services: Services): Promise<void> => {
    const { store, config, signIn, sessions } = services;
    const { issuer, basePath } = config;
    /** Only the virtual browser of this process knows it. */
    const within = randomSecret();
    const browsers = new Map<string, VirtualBrowser>();
    await onlyJson(app);
    app.setErrorHandler(jsonErrors);

    app.addHook('onRequest', async ({ headers, socket }) => {
      // a page that a browser has open may reach this address, too
      if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined)
        throw new OAuthError('access_denied', 'no browser may call this address', 403);
      if (token === undefined) {
        if (!isLoopback(socket.remoteAddress))
          throw new OAuthError('access_denied', 'only this machine may call this address', 403);
      } else if (!equalSecrets(headers.authorization ?? '', `Bearer ${token}`) && headers['x-within'] !== within)
        throw new OAuthError('invalid_token', 'send the dev_token that bin/gatehouse dev has printed', 401);
    });

    app.post('/dev/sign-in', async (request, reply) => {
      const asked = read(signInShape, request.body);
      const user = await findUser(asked.user);
      const { decision } = asked;
      const end = await browserOf(asked.browser).visit({
        address: addressOf('authorization_request', '/authorize', asked.authorization_request),
        entered: { '/consent': { decision }, ...(decision === 'deny' && { '/access-denied': {} }) },
        ...asUser(user, asked),
      });
      if ('stopped' in end) return stop(reply, end);
      const { sent, ...answer } = end;
      if (decision === 'deny' && sent.length === 0 && !isError(answer))
        throw invalidRequest('no page asked for consent, so nothing was denied: add prompt=consent to the request');
      return noStore(reply).send(answer);
    });

    app.post('/dev/sign-out', async (request, reply) => {
      const { browser: name, end_session_request: asked } = read(signOutShape, request.body);
      const browser = browsers.get(name);
      if (!browser) throw invalidRequest(`no user has signed in with the browser ${name}`);
      const address = addressOf('end_session_request', '/logout', asked);
      const end = await browser.visit({ address, entered: { '/logout': { decision: 'sign-out' } } });
      if ('redirect' in end) return noStore(reply).send({ redirect: end.redirect });
      if (end.status !== 200) return stop(reply, end);
      return noStore(reply).send({ page: end.title });
    });

    app.post('/dev/device', async (request, reply) => {
      const asked = read(deviceShape, request.body);
      const { decision } = asked;
      const end = await browserOf(asked.browser).visit({
        address: `${basePath}/device?${new URLSearchParams({ user_code: asked.user_code }).toString()}`,
        entered: { '/device': { decision } },
        ...asUser(await findUser(asked.user), asked),
      });
      if ('stopped' in end && end.stopped === '/device' && end.status === 400)
        throw invalidRequest(`no device waits for the code ${asked.user_code}`);
      if ('redirect' in end || end.sent.length === 0 || end.status !== 200) return stop(reply, end);
      return noStore(reply).send({ decision });
    });

    app.post('/dev/time', async (request, reply) => {
      const { seconds } = read(timeShape, request.body);
      const tables = await age(seconds);
      services.clients.forget(undefined);
      await services.keyRing.refresh();
      return noStore(reply).send({ seconds, tables });
    });

    // the sign-in itself needs the reply whose cookies the browser gets
    app.post(sessionDoor, async (request, reply) => {
      onlyWithin(request);
      const { user: sub, amr, transaction } = read(sessionShape, request.body);
      const user = await store.users.find(sub);
      if (user?.status !== 'enabled') throw invalidRequest(`the user ${user?.username ?? sub} is disabled`);
      const previous = await sessions.find(request, reply);
      const verified = { sub, passwordHash: user.passwordHash, amr };
      const path = await signIn.complete(request, reply, verified, { previous, transaction });
      if (path === undefined)
        throw invalidRequest(`the user ${user.username} has a second factor: amr must contain mfa`);
      return { path };
    });

    app.get(sessionDoor, async (request, reply) => {
      onlyWithin(request);
      const session = await sessions.find(request, reply);
      return session ? { sub: session.user.sub, username: session.user.username, amr: session.amr } : {};
    });

    function onlyWithin({ headers }: FastifyRequest): void {
      if (headers['x-within'] !== within) throw new OAuthError('not_found', 'there is nothing here', 404);
    }

    async function findUser(named: string): Promise<User> {
      const user = await store.users.findNamed(named);
      if (!user) throw invalidRequest(`there is no user ${named}`);
      return user;
    }

    /** A browser of this name, or a fresh one. */
    function browserOf(name: string | undefined): VirtualBrowser {
      const browser = (name === undefined ? undefined : browsers.get(name)) ?? new VirtualBrowser(app, issuer);
      if (name !== undefined) browsers.set(name, browser);
      return browser;
    }

    /** What a visit does in the name of a user, and in no other's. */
    function asUser(
      user: User,
      { amr, browser }: { amr?: string[] | undefined; browser?: string | undefined },
    ): Required<Pick<Visit, 'signIn' | 'check'>> {
      if (amr) checkMethods(amr);
      const sendWithin = (cookie: string, method: 'GET' | 'POST', payload?: object) =>
        app.inject({
          method,
          url: basePath + sessionDoor,
          headers: { 'x-within': within, ...(cookie !== '' && { cookie }) },
          ...(payload && { payload }),
        });
      return {
        async signIn(cookie, transaction, strong) {
          // the second step asks for one factor more
          const first = amr ?? ['pwd'];
          const shown = strong ? withMethods(first, 'otp', 'mfa') : first;
          const response = await sendWithin(cookie, 'POST', { user: user.sub, amr: shown.join(' '), transaction });
          const answer = response.json<{ path: string; error_description: string }>();
          if (response.statusCode !== 200) throw invalidRequest(answer.error_description);
          return { cookies: [response.headers['set-cookie'] ?? []].flat(), path: basePath + answer.path };
        },
        async check(cookie) {
          const {
            sub,
            username,
            amr: before = [],
          } = (await sendWithin(cookie, 'GET')).json<{
            sub?: string;
            username?: string;
            amr?: string[];
          }>();
          if (sub === undefined) return;
          if (sub !== user.sub)
            throw invalidRequest(
              `the browser ${browser} is signed in as ${username}, and not as ${user.username}: name another browser, sign out by /dev/sign-out, or add prompt=login to the request`,
            );
          if (amr?.some((method) => !before.includes(method)))
            throw invalidRequest(
              `the browser ${browser} is signed in with ${before.join(' ')}, and not with ${amr.join(' ')}: name another browser, or add prompt=login to the request`,
            );
        },
      };
    }

    /** Answers that the browser stopped at a page, with what the service has kept of the refusal. */
    async function stop(reply: FastifyReply, end: End): Promise<FastifyReply> {
      if ('redirect' in end) throw invalidRequest(`the browser left the service for ${end.redirect}`);
      const kept = end.reference === undefined ? undefined : await store.refusals.find(end.reference);
      const facts = kept?.facts ?? {};
      const reasons = [facts['error_description'], facts['reason']].filter((reason) => reason !== undefined);
      const refusal = invalidRequest([stoppedAt(end), ...reasons].join('; '));
      return noStore(reply)
        .code(400)
        .send({
          error: refusal.code,
          error_description: refusal.description,
          ...(kept && { refusal: facts }),
        });
    }

    /** The path and query of the request. @throws OAuthError if it is at another issuer */
    function addressOf(member: string, path: string, asked: string | Record<string, string>): string {
      if (typeof asked !== 'string') return `${basePath}${path}?${new URLSearchParams(asked).toString()}`;
      const url = URL.canParse(asked, issuer) ? new URL(asked, issuer) : undefined;
      if (url?.origin !== new URL(issuer).origin)
        throw invalidRequest(`${member} must be an address of ${issuer}, or its parameters`);
      return url.pathname + url.search;
    }
  };
}

/** Whether the client gets an error, as far as the answer says it in plain text. */
function isError({ redirect, form = {} }: { redirect: string; form?: Record<string, string> }): boolean {
  const { searchParams, hash } = new URL(redirect);
  return searchParams.has('error') || new URLSearchParams(hash.slice(1)).has('error') || 'error' in form;
}
