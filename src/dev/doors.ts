// Serves POST /dev/sign-in and POST /dev/time, the doors of `gatehouse dev`: no other start knows this file (delivery 5).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { equalSecrets, randomSecret } from '../crypto/secrets.ts';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import { firstRefusal } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';
import type { buildServices } from '../services.ts';
import { jsonErrors, noStore } from '../server/errors.ts';
import { onlyJson } from '../server/form-body.ts';
import { VirtualBrowser } from './virtual-browser.ts';

type Services = Awaited<ReturnType<typeof buildServices>>;

export interface DoorOptions {
  /** What every request carries as a bearer token, where the service listens on other addresses than a loopback. */
  token: string | undefined;
  /** Makes the stored rows older. */
  age(seconds: number): Promise<number>;
}

const signInShape = z.strictObject({
  user: text(320).describe('The user name, the sub or the email address.'),
  authorization_request: z
    .union([text(20_000), z.record(z.string(), text(10_000))])
    .describe('The URL to which the client sends the browser, or its parameters.'),
  decision: z.enum(['allow', 'deny']).default('allow'),
  amr: z.array(text(20)).max(10).default(['pwd']),
  /** Names a browser whose cookies are kept for later calls. */
  browser: text(100).optional(),
});

/** As a form would have them: each member is one text. */
const sessionShape = z.strictObject({
  user: text(320),
  amr: text(200).transform((methods) => methods.split(' ')),
  transaction: text(100).optional(),
});

const timeShape = z.strictObject({
  seconds: z
    .number()
    .min(0)
    .max(10 * 366 * 86_400),
});

/** What the user of a second factor has shown. */
const strongest = ['pwd', 'otp', 'mfa'];
const sessionDoor = '/dev/session';
const isLoopback = (address = ''): boolean => /^(127\.|::1$|::ffff:127\.)/.test(address);

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
        throw new OAuthError('invalid_token', 'send the dev_token that gatehouse dev has printed', 401);
    });

    app.post('/dev/sign-in', async (request, reply) => {
      const asked = read(signInShape, request.body);
      const user = asked.user.includes('\0') ? undefined : await store.users.findNamed(asked.user);
      if (!user) throw invalidRequest(`there is no user ${asked.user}`);
      const fresh = () => new VirtualBrowser(app, issuer);
      let browser = asked.browser === undefined ? undefined : browsers.get(asked.browser);
      if (!browser) browser = fresh();
      if (asked.browser !== undefined) browsers.set(asked.browser, browser);
      const end = await browser.visit({
        address: addressOf(asked.authorization_request),
        decision: asked.decision,
        async signIn(cookie, transaction, strong) {
          const amr = strong ? strongest : asked.amr;
          const response = await app.inject({
            method: 'POST',
            url: basePath + sessionDoor,
            headers: { 'x-within': within, ...(cookie !== '' && { cookie }) },
            payload: { user: user.sub, amr: amr.join(' '), transaction },
          });
          if (response.statusCode !== 200) throw invalidRequest(`the user cannot sign in: ${response.body}`);
          const { path } = response.json<{ path: string }>();
          return { cookies: [response.headers['set-cookie'] ?? []].flat(), path: basePath + path };
        },
      });
      if ('redirect' in end) return noStore(reply).send(end);
      const { stopped, status, title } = end;
      throw new OAuthError('invalid_request', `the browser stopped at ${stopped} (${status}): ${title}`, 400);
    });

    // the sign-in itself needs the reply whose cookies the browser gets
    app.post(sessionDoor, async (request, reply) => {
      if (request.headers['x-within'] !== within) throw new OAuthError('not_found', 'there is nothing here', 404);
      const { user: sub, amr, transaction } = read(sessionShape, request.body);
      const user = await store.users.find(sub);
      const path =
        user && (await completed(request, reply, { sub, passwordHash: user.passwordHash, amr }, transaction));
      if (path === undefined)
        throw invalidRequest('the user is disabled, or has a second factor, which amr must name with mfa');
      return { path };
    });

    app.post('/dev/time', async (request, reply) => {
      const { seconds } = read(timeShape, request.body);
      const tables = await age(seconds);
      services.clients.forget(undefined);
      await services.keyRing.refresh();
      return noStore(reply).send({ seconds, tables });
    });

    async function completed(
      request: FastifyRequest,
      reply: FastifyReply,
      verified: { sub: string; passwordHash: string | undefined; amr: string[] },
      transaction: string | undefined,
    ): Promise<string | undefined> {
      const previous = await sessions.find(request, reply);
      return signIn.complete(request, reply, verified, { previous, transaction });
    }

    /** The path and query of the request. @throws OAuthError if it is at another issuer */
    function addressOf(asked: string | Record<string, string>): string {
      if (typeof asked !== 'string') return `${basePath}/authorize?${new URLSearchParams(asked).toString()}`;
      const url = URL.canParse(asked, issuer) ? new URL(asked, issuer) : undefined;
      if (url?.origin !== new URL(issuer).origin)
        throw invalidRequest(`authorization_request must be an address of ${issuer}, or its parameters`);
      return url.pathname + url.search;
    }
  };
}

/** @throws OAuthError invalid_request */
function read<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const parsed = shape.safeParse(body);
  if (!parsed.success) throw invalidRequest(firstRefusal(parsed.error, 'the request'));
  return parsed.data;
}
