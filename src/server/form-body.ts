// Parses the bodies of requests: each plugin chooses its content types, and the service refuses every other type with 415.
import { parse } from 'node:querystring';
import formbody from '@fastify/formbody';
import type { FastifyInstance, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import { type JsonLimits, parseJson, usualJson } from '../oauth/json-text.ts';
import { sendsFile } from './file-upload.ts';
import { allowLongForm, isPercentEncoded } from './parameters.ts';

/** Only application/x-www-form-urlencoded (RFC 6749 3.2, security R106), and forms with a file at addresses that take one. */
export async function onlyForms(app: FastifyInstance): Promise<void> {
  app.removeAllContentTypeParsers();
  await addFormParser(app);
  app.addHook('preValidation', (request, _reply, done) => {
    const type = request.headers['content-type'];
    if (
      request.method !== 'POST' ||
      (type !== undefined && /^application\/x-www-form-urlencoded *(;.*)?$/i.test(type)) ||
      sendsFile(request)
    )
      return done();
    done(new OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded', 415));
  });
}

/** Adds the parser of application/x-www-form-urlencoded; it refuses a body that is not UTF-8 (security R107). */
export async function addFormParser(app: FastifyInstance): Promise<void> {
  await app.register(formbody, {
    parser: (body) => {
      // bytes outside UTF-8 have become U+FFFD
      if (body.includes('\ufffd') || !isPercentEncoded(body))
        throw invalidRequest('the body is not percent-encoded UTF-8');
      return parse(body);
    },
  });
}

/** Declares that the form of a route can have more fields than other requests have parameters. */
export const longForm = (most: number): Pick<RouteShorthandOptions, 'preValidation'> => ({
  preValidation: async ({ body }) => allowLongForm(body, most),
});

/**
 * Only application/json, bounded in depth and size, without reserved or repeated names (security R48, R103).
 * @param declared the limits that the route of a request declares, if it has its own
 */
export function onlyJson(app: FastifyInstance, declared?: (request: FastifyRequest) => JsonLimits | undefined): void {
  app.removeAllContentTypeParsers();
  addJsonParser(app, (request) => declared?.(request) ?? usualJson);
}

/**
 * Adds the parser of application/json. An empty body counts as no body, since many programs send a content type without one.
 * @param limits levels of nesting, and members of all objects together, of every request or of this one
 */
export function addJsonParser(
  app: FastifyInstance,
  limits: JsonLimits | ((request: FastifyRequest) => JsonLimits),
): void {
  app.addContentTypeParser(/^application\/json *(;.*)?$/i, { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined);
    try {
      const most = typeof limits === 'function' ? limits(request) : limits;
      done(null, parseJson(body as string, most, 'the body'));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}
