// Parses the bodies of requests: each plugin chooses its content types, and the service refuses every other type with 415.
import { parse } from 'node:querystring';
import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import { countMembers, hasUniqueNames } from '../oauth/json-text.ts';
import { isPercentEncoded } from './parameters.ts';

/** Only application/x-www-form-urlencoded (RFC 6749 3.2, security R106). */
export async function onlyForms(app: FastifyInstance): Promise<void> {
  app.removeAllContentTypeParsers();
  await addFormParser(app);
  app.addHook('preValidation', (request, _reply, done) => {
    const type = request.headers['content-type'];
    if (request.method !== 'POST' || (type !== undefined && /^application\/x-www-form-urlencoded *(;.*)?$/i.test(type)))
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

/** Only application/json, bounded in depth and size, without reserved or repeated names (security R48, R103). */
export function onlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  addJsonParser(app, { depth: 16, members: 256 });
}

/**
 * Adds the parser of application/json. An empty body counts as no body, since many programs send a content type without one.
 * @param limits levels of nesting, and members of all objects together
 */
export function addJsonParser(app: FastifyInstance, limits: JsonLimits): void {
  app.addContentTypeParser(/^application\/json *(;.*)?$/i, { parseAs: 'string' }, (_request, body, done) => {
    if (body === '') return done(null, undefined);
    try {
      const value: unknown = JSON.parse(body as string);
      check(value, 1, limits);
      if (countMembers(value) > limits.members)
        throw new OAuthError('invalid_request', `the body has more than ${limits.members} members`);
      if (!hasUniqueNames(body as string, value))
        throw new OAuthError('invalid_request', 'the body contains an object with a repeated member');
      checkNumbers(body as string);
      done(null, value);
    } catch (error) {
      done(error instanceof OAuthError ? error : new OAuthError('invalid_request', 'the body is not JSON'), undefined);
    }
  });
}

interface JsonLimits {
  depth: number;
  members: number;
}

const reserved = ['__proto__', 'constructor', 'prototype']; // (security R88)

function check(value: unknown, depth: number, limits: JsonLimits): void {
  if (typeof value === 'string') checkText(value);
  if (typeof value !== 'object' || value === null) return;
  if (depth > limits.depth)
    throw new OAuthError('invalid_request', `the body is nested deeper than ${limits.depth} levels`);
  for (const [name, member] of Object.entries(value)) {
    if (reserved.includes(name))
      throw new OAuthError('invalid_request', `the body has a member named ${name}, which is a reserved name`);
    checkText(name);
    check(member, depth + 1, limits);
  }
}

/** Refuses a number that JavaScript cannot keep: one beyond its range, or with digits beyond its precision. */
function checkNumbers(body: string): void {
  if (!/\d{16}|\de/i.test(body)) return;
  JSON.parse(body, (_name, value: unknown, context?: { source?: string }) => {
    if (typeof value === 'number' && !isKept(value, context!.source!)) {
      throw new OAuthError(
        'invalid_request',
        `the body has a number that cannot be stored exactly: send whole numbers beyond ${Number.MAX_SAFE_INTEGER}, and numbers that are too large or too small, as strings`,
      );
    }
    return value;
  });
}

/** A double keeps fifteen significant digits; RFC 8259 6 promises no more for fractions. */
function isKept(value: number, source: string): boolean {
  const digits = source
    .replace(/e.*$/i, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
  if (value === 0) return digits === '';
  return Number.isFinite(value) && (Math.abs(value) <= Number.MAX_SAFE_INTEGER || digits.length <= 15);
}

function checkText(value: string): void {
  if (value.includes('\0') || !value.isWellFormed())
    throw new OAuthError('invalid_request', 'the body contains text that is not well-formed');
}
