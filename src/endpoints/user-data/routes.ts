// GET /user/{sub}/address, info, settings, scope: what a client may know and keep of a user (service specification 4.7).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { bearerErrors, jsonErrors, noStore } from '../../http/errors.ts';
import { addFormParser, addJsonParser } from '../../http/form-body.ts';
import { readParameters, text } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import { releasedClaims } from '../../oauth/claims.ts';
import { insufficientScope, invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { type Access, access } from '../../http/user-access.ts';
import { readSettings } from './settings.ts';

// the settings' own limits lie within these, and are told apart
const settingsLimits = { depth: 20, members: 10_000 };
const settingsBody = 80 * 1024; // bytes
const bySub = z.object({ sub: text(255) });

export async function userDataEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { store } = options;
  app.removeAllContentTypeParsers();
  await addFormParser(app);
  addJsonParser(app, settingsLimits);
  app.setErrorHandler((error, request, reply) =>
    isBasic(request) ? jsonErrors(error, request, reply) : bearerErrors(error, request, reply),
  );
  app.addHook('onSend', async (_request, reply) => void noStore(reply));

  const allow = (request: FastifyRequest): Promise<Access> =>
    access(options, request, readParameters(bySub, request.params).sub);

  app.get('/user/:sub/address', async (request) => {
    const { user, scopes } = await allow(request);
    if (!scopes.includes('address')) throw insufficientScope('this needs the scope address');
    // a user without an address has an empty one
    return releasedClaims(user, ['address'])['address'] ?? {};
  });

  const info = async (request: FastifyRequest) => {
    const { user, subject, scopes } = await allow(request);
    return { ...releasedClaims(user, scopes), sub: subject };
  };
  app.get('/user/:sub/info', info);
  app.post('/user/:sub/info', info);

  app.get('/user/:sub/scope', async (request) => {
    if (isBasic(request)) {
      throw new OAuthError('invalid_request', 'this address takes a Bearer token only', 401, {
        headers: { 'www-authenticate': 'Bearer realm="gatehouse"' },
      });
    }
    const { user, subject, scopes } = await allow(request);
    if (!scopes.includes('scope')) throw insufficientScope('this needs the scope scope');
    return { sub: subject, username: user.username, scope: user.groups };
  });

  app.get('/user/:sub/settings', async (request, reply) => {
    const { user, subject, clientId } = await allow(request);
    const { settings, version } = await store.userSettings.find(user.sub, clientId);
    reply.header('etag', `"${version}"`);
    return { sub: subject, client_id: clientId, settings };
  });

  app.put('/user/:sub/settings', { bodyLimit: settingsBody }, async (request, reply) => {
    const { user, clientId } = await allow(request);
    const change = readSettings(request.body);
    const result = await store.userSettings.write(user.sub, clientId, change, expectedVersion(request));
    switch (result) {
      case 'written':
        return reply.code(200).send();
      case 'changed':
        throw new OAuthError('conflict', 'the settings changed since: read them again, then repeat the write', 412);
      case 'too-large':
        throw new OAuthError('invalid_request', 'the settings may have 256 keys and 64 KiB in all', 413);
    }
  });
}

function isBasic(request: FastifyRequest): boolean {
  return /^Basic /i.test(request.headers.authorization ?? '');
}

/** The version that If-Match demands (RFC 9110 13.1.1); undefined for any. */
function expectedVersion(request: FastifyRequest): string | undefined {
  const header = request.headers['if-match'];
  if (header === undefined || header === '*') return undefined;
  const version = /^"(\d{1,18})"$/.exec(header)?.[1];
  if (version === undefined) throw invalidRequest('If-Match must be the ETag of the settings');
  return version;
}
