// Serves the console's "Try it": runs a real code flow with PKCE for a client, and shows each request and response to a developer.
import { maxClientId } from '../../../oauth/client-document.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { equalSecrets, randomSecret } from '../../../crypto/secrets.ts';
import { type AdminSession, type Console, consoleClientId } from '../admin-session.ts';
import { internalCookie, single } from '../../../browser/cookies.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import type { ConsoleFrame, Pages } from '../../../pages/views/index.ts';
import type { TryStep } from '../../../pages/views/try-it.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { methodOf } from '../../../oauth/registrable-values.ts';
import { invalidRequest } from '../../../oauth/errors.ts';
import { codeChallenge } from '../../../oauth/pkce.ts';
import { sectorIdentifier } from '../../../oauth/subject-type.ts';
import type { ClientMetadata } from '../../../oauth/client-metadata.ts';
import { showClient } from '../../operations/clients.ts';
import { changeMetadata } from '../../operations/pages/clients.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import { idTokenView } from './id-token.ts';
import { type Ask, parametersOf, walk } from './walk.ts';
import type { Config } from '../../../config.ts';
import type { ClientCache } from '../../../repositories/clients/client-cache.ts';
import type { TokenService } from '../../../tokens/token-service.ts';
import type { KeyRing } from '../../../tokens/key-ring.ts';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import type { PageResponses } from '../../../pages/page-response.ts';

const path = '/admin/try-it';
const beginPath = `${path}/begin`;
const redirectPath = `${path}/redirect-uri`;
const redeemPath = `${path}/redeem`;
const callbackPath = `${path}/callback`;

const lifetime = 15 * 60; // seconds

const beginning = z.object({
  csrf: text(100),
  client_id: text(maxClientId),
  scope: text(1000).optional(),
  prompt: text(100).optional(),
  max_age: text(20).optional(),
  acr_values: text(1000).optional(),
  claims: text(1500).optional(),
  login_hint: text(320).optional(),
  end: text(10).optional(),
});
const redirectChange = z.object({ csrf: text(100), client_id: text(maxClientId), change: z.enum(['add', 'remove']) });
const redeeming = z.object({ csrf: text(100), client_secret: text(1000).optional() });

/** A flow in progress, which the browser keeps in a sealed cookie. */
interface Flow {
  clientId: string;
  state: string;
  nonce: string;
  verifier: string;
  parameters: Record<string, string>;
  end: boolean;
  /** Milliseconds since 1970. */
  at: number;
  /** The session that began the flow. */
  sid: string;
  /** The authorization response, once it has arrived. */
  answer?: Record<string, string>;
}

interface ConsoleTryItDependencies {
  config: Config;
  clients: ClientCache;
  tokens: TokenService;
  keyRing: KeyRing;
  secretBox: SecretBox;
  pages: PageResponses;
  console: Console;
}

export async function consoleTryItEndpoint(app: FastifyInstance, options: ConsoleTryItDependencies): Promise<void> {
  const { config, console, clients, pages, secretBox, tokens, keyRing } = options;
  const { issuer, basePath } = config;
  const cookieName = internalCookie('TRY_IT', issuer);
  const callbackUri = issuer + callbackPath;
  const cookie = { httpOnly: true, sameSite: 'lax', secure: config.secureCookies, path: basePath + path } as const;

  const chosen = z.object({ client_id: text(maxClientId).optional() });
  console.page(app, path, (admin, request) => show(admin, readParameters(chosen, request.query).client_id ?? ''), {
    needs: showClient,
  });

  app.post(redirectPath, async (request, reply) => {
    const { csrf, client_id: id, change } = readParameters(redirectChange, request.body);
    const back = pageOf(id);
    const admin = await console.submitted(request, reply, {
      csrf,
      action: redirectPath,
      back,
      fresh: true,
      needs: changeMetadata,
    });
    if (!admin) return reply;
    const edit = (metadata: ClientMetadata) => {
      // the first redirect URI determines the sector of pairwise subjects
      if (metadata.redirect_uris.length === 0 && metadata.subject_type === 'pairwise')
        throw invalidRequest('a client with pairwise subjects needs a redirect URI of its own first');
      const others = metadata.redirect_uris.filter((uri) => uri !== callbackUri);
      const after = { ...metadata, redirect_uris: change === 'add' ? [...others, callbackUri] : others };
      if (after.redirect_uris.length > 0 && sectorIdentifier(after) !== sectorIdentifier(metadata))
        throw invalidRequest('this would change the sector of the client');
      return after;
    };
    await admin.run(changeMetadata, { id, change: edit });
    return admin.done(back, change === 'add' ? 'callback-added' : 'callback-removed');
  });

  app.post(beginPath, async (request, reply) => {
    const { csrf, client_id: id, end, ...wished } = readParameters(beginning, request.body);
    const admin = await console.submitted(request, reply, {
      csrf,
      action: beginPath,
      back: pageOf(id),
      needs: showClient,
    });
    if (!admin) return reply;
    const client = id === consoleClientId ? undefined : await clients.find(id);
    if (client?.status !== 'enabled' || !client.metadata.redirect_uris.includes(callbackUri)) return show(admin, id);
    const [state, nonce, verifier] = [randomSecret(), randomSecret(), randomSecret()];
    const parameters = {
      response_type: 'code',
      client_id: id,
      redirect_uri: callbackUri,
      ...(wished as Record<string, string>),
      state,
      nonce,
      code_challenge: codeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    keep(reply, {
      clientId: id,
      state,
      nonce,
      verifier,
      parameters,
      end: end !== undefined,
      at: Date.now(),
      sid: admin.session.sid,
    });
    return pages.redirect(reply, `/authorize?${new URLSearchParams(parameters).toString()}`);
  });

  const showAnswer = async (admin: AdminSession, request: FastifyRequest, reply: FastifyReply) => {
    const answer = singleValued(request.query);
    const flow = await read(admin);
    if (!flow || flow.answer || !equalSecrets(flow.state, answer['state'] ?? ''))
      return show(admin, flow?.clientId ?? '', 'expired');
    flow.answer = answer;
    const client = await clients.find(flow.clientId);
    // the response comes from another server (RFC 9207 2.4)
    if (!client || answer['code'] === undefined || answer['iss'] !== issuer)
      return result(admin, flow, client, { outcome: 'failed' });
    const { proves, needsSecret } = methodOf(client.metadata.token_endpoint_auth_method);
    if (proves === 'nothing') return redeem(admin, flow, client, undefined);
    if (needsSecret !== 'in requests') return result(admin, flow, client, { outcome: 'done', ownKey: true });
    keep(reply, flow);
    const form = admin.form(redeemPath);
    return result(admin, flow, client, { outcome: 'waiting', form });
  };

  console.page(app, callbackPath, showAnswer, { needs: showClient });

  app.post(redeemPath, async (request, reply) => {
    const { csrf, client_secret: secret } = readParameters(redeeming, request.body);
    const admin = await console.submitted(request, reply, { csrf, action: redeemPath, back: path, needs: showClient });
    if (!admin) return reply;
    const flow = await read(admin);
    const client = flow && (await clients.find(flow.clientId));
    if (!flow?.answer?.['code'] || !client) return show(admin, flow?.clientId ?? '', 'expired');
    return redeem(admin, flow, client, secret);
  });

  /** Performs the steps that a client performs without the browser, and shows them. The secret is used for these requests only. */
  async function redeem(
    admin: AdminSession,
    flow: Flow,
    client: Client,
    secret: string | undefined,
  ): Promise<FastifyReply> {
    const ask: Ask = async (method, address, headers, form) => {
      const answer = await app.inject({
        method,
        url: basePath + address,
        remoteAddress: admin.request.ip,
        headers: { ...headers, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }) },
        ...(form && { payload: new URLSearchParams(form).toString() }),
      });
      return {
        status: answer.statusCode,
        contentType: String(answer.headers['content-type'] ?? ''),
        body: answer.body,
      };
    };
    const { steps, tokens: issued } = await walk(ask, {
      issuer,
      clientId: flow.clientId,
      method: client.metadata.token_endpoint_auth_method,
      secret,
      code: flow.answer!['code']!,
      redirectUri: callbackUri,
      verifier: flow.verifier,
      end: flow.end,
    });
    const { id_token: idToken, access_token: accessToken = '' } = issued;
    const maxAge = flow.parameters['max_age'];
    const view =
      idToken === undefined
        ? undefined
        : idTokenView(idToken, {
            issuer,
            clientId: flow.clientId,
            nonce: flow.nonce,
            accessToken,
            maxAge: maxAge === undefined ? undefined : Number(maxAge),
            acrValues: flow.parameters['acr_values']?.split(' ') ?? [],
            verified: (await tokens.verifyIdToken(idToken)) !== undefined,
            now: Math.floor(keyRing.now().getTime() / 1000),
          });
    return result(admin, flow, client, {
      outcome: accessToken === '' ? 'failed' : 'done',
      more: steps,
      ...(view && { idToken: view }),
    });
  }

  function result(
    admin: AdminSession,
    flow: Flow,
    client: Client | undefined,
    found: Pick<Pages['console-try-it-result'], 'outcome' | 'form' | 'ownKey' | 'idToken'> & { more?: TryStep[] },
  ): FastifyReply {
    const { more = [], ...rest } = found;
    const steps: TryStep[] = [
      {
        name: 'authorization',
        method: 'GET',
        uri: `${issuer}/authorize`,
        parameters: parametersOf(flow.parameters),
      },
      { name: 'callback', method: 'GET', uri: callbackUri, parameters: parametersOf(flow.answer ?? {}) },
      ...more,
    ];
    return admin.send(
      'console-try-it-result',
      {
        clientName: client ? displayName(client.clientId, client.metadata) : flow.clientId,
        againUri: pageOf(flow.clientId),
        steps,
        ...rest,
      },
      { section: 'try-it' },
    );
  }

  async function show(admin: AdminSession, clientId: string, fault?: 'expired'): Promise<FastifyReply> {
    // the console's own client never changes, so it cannot get the callback of this page
    const client = ['', consoleClientId].includes(clientId) ? undefined : await clients.find(clientId);
    const reachable = client?.metadata.redirect_uris.includes(callbackUri) ?? false;
    const data: Omit<Pages['console-try-it'], keyof ConsoleFrame> = {
      action: path,
      clientId,
      callbackUri,
      values: {
        scope: client ? (client.metadata.scope ?? 'openid') : 'openid',
        prompt: '',
        maxAge: '',
        acrValues: '',
        claims: '',
        loginHint: '',
      },
    };
    if (client) {
      const enabled = client.status === 'enabled';
      data.client = { name: displayName(clientId, client.metadata), enabled, reachable };
      data.redirectForm = admin.form(redirectPath);
      if (reachable && enabled) data.form = admin.form(beginPath);
    }
    const problem = fault ?? (clientId !== '' && !client ? 'client' : undefined);
    if (problem) data.fault = problem;
    const status = problem === 'client' ? 404 : problem === 'expired' ? 400 : 200;
    return admin.send('console-try-it', data, { section: 'try-it', status });
  }

  function keep(reply: FastifyReply, flow: Flow): void {
    const sealed = secretBox.seal(JSON.stringify(flow), cookieName).toString('base64url');
    reply.setCookie(cookieName, sealed, { ...cookie, maxAge: lifetime });
  }

  /** Finds the flow that this browser began in this session and removes it; keep() stores it again. */
  async function read(admin: AdminSession): Promise<Flow | undefined> {
    const sealed = single(admin.request, cookieName);
    admin.reply.clearCookie(cookieName, cookie);
    if (sealed === undefined) return undefined;
    try {
      const opened = secretBox.open(Buffer.from(sealed, 'base64url'), cookieName);
      const flow = JSON.parse(opened.toString()) as Flow;
      return Date.now() - flow.at < lifetime * 1000 && flow.sid === admin.session.sid ? flow : undefined;
    } catch {
      // forged, or encrypted with a key that is no longer in SECRET_KEY
      return undefined;
    }
  }
}

const pageOf = (clientId: string): string => `${path}?${new URLSearchParams({ client_id: clientId }).toString()}`;
