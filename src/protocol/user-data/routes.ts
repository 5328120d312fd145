// Serves the claims, scope and settings of a user to clients below /user/{sub} (specification 4.7).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { jsonErrors, noStore, resourceChallenge, resourceErrors } from '../../server/errors.ts';
import { withResourceMetadata } from '../../server/resource-challenge.ts';
import { addFormParser, addJsonParser } from '../../server/form-body.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { releasedClaims } from '../../rules/claims/claims.ts';
import { insufficientScope, invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { upstreamTokenRoute, type UpstreamTokenDependencies } from './upstream-token.ts';
import { type Access, access, type UserAccessDependencies } from './user-access.ts';
import { readSettings, settingsBodyLimit, tooLarge } from './settings.ts';
import type { Store } from '../../repositories/store.ts';

// the settings have limits of their own, with refusals of their own
const settingsLimits = { depth: 20, members: Infinity };
const bySub = z.object({ sub: text(255) });

type UserDataDependencies = UserAccessDependencies & UpstreamTokenDependencies & { store: Pick<Store, 'userSettings'> };

export async function userDataEndpoint(app: FastifyInstance, options: UserDataDependencies): Promise<void> {
  const { store } = options;
  app.removeAllContentTypeParsers();
  await addFormParser(app);
  addJsonParser(app, settingsLimits);
  app.setErrorHandler(
    withResourceMetadata(
      (error, request, reply) => (isBasic(request) ? jsonErrors : resourceErrors)(error, request, reply),
      options.config.issuer,
      ({ routeOptions: { url = '' } }) => /\/(address|scope)$/.exec(url)?.[1] ?? 'openid',
    ),
  );
  app.addHook('onRequest', (_request, reply, done) => {
    noStore(reply);
    done();
  });

  const allow = (request: FastifyRequest, reply: FastifyReply): Promise<Access> =>
    access(options, request, reply, readParameters(bySub, request.params).sub);

  app.get('/user/:sub/address', async (request, reply) => {
    const { user, scopes } = await allow(request, reply);
    if (!scopes.includes('address')) throw insufficientScope('this requires the scope address');
    // the address of a user without one is an empty object
    return releasedClaims(user, ['address'])['address'] ?? {};
  });

  const info = async (request: FastifyRequest, reply: FastifyReply) => {
    const { user, subject, scopes } = await allow(request, reply);
    return { ...releasedClaims(user, scopes), sub: subject };
  };
  app.get('/user/:sub/info', info);
  app.post('/user/:sub/info', info);

  app.get('/user/:sub/scope', async (request, reply) => {
    if (isBasic(request)) {
      throw new OAuthError('invalid_request', 'this URL accepts only an access token', 401, {
        headers: { 'www-authenticate': resourceChallenge },
      });
    }
    const { user, subject, scopes } = await allow(request, reply);
    if (!scopes.includes('scope')) throw insufficientScope('this requires the scope scope');
    return { sub: subject, username: user.username, scope: user.groups };
  });

  upstreamTokenRoute(app, options, allow);

  app.get('/user/:sub/settings', async (request, reply) => {
    const { user, subject, clientId } = await allow(request, reply);
    const { settings, version } = await store.userSettings.find(user.sub, clientId);
    reply.header('etag', `"${version}"`);
    return { sub: subject, client_id: clientId, settings };
  });

  app.put('/user/:sub/settings', { bodyLimit: settingsBodyLimit }, async (request, reply) => {
    const { user, clientId } = await allow(request, reply);
    const change = readSettings(request.body);
    const result = await store.userSettings.write(user.sub, clientId, change, expectedVersions(request));
    switch (result) {
      case 'written':
        // no ETag: GET does not return the body that was sent (RFC 9110 9.3.4)
        return reply.code(200).send();
      case 'changed':
        throw new OAuthError('conflict', 'the settings have changed: read them again, then repeat the write', 412);
      case 'too-large':
        throw tooLarge();
    }
  });
}

function isBasic(request: FastifyRequest): boolean {
  return /^Basic /i.test(request.headers.authorization ?? '');
}

/** The versions that If-Match accepts (RFC 9110 13.1.1); undefined for any. */
function expectedVersions(request: FastifyRequest): string[] | undefined {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return undefined;
  const tag = /(?:W\/)?"[!#-~\x80-\xff]*"/g;
  const tags = header.match(tag) ?? [];
  if (tags.length === 0 || /[^ \t,]/.test(header.replace(tag, ''))) {
    throw invalidRequest('If-Match must contain ETags of the settings');
  }
  // the comparison is strong, and versions are numbers: a weak tag or a tag of another form matches nothing
  return tags.filter((each) => /^"(?:0|[1-9]\d{0,17})"$/.test(each)).map((each) => each.slice(1, -1));
}
