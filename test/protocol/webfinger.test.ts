// Tells clients at which issuer the users of a domain sign in, and nothing about the users (RFC 7033).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const relation = 'http://openid.net/specs/connect/1.0/issuer';
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: { WEBFINGER_DOMAINS: 'Example.com, bücher.example' } });
  await service.createUser({ username: 'ada', email: 'ada@example.com' });
});
afterAll(() => service?.stop());

const find = (...parameters: [string, string][]) =>
  call(`${service.issuer}/.well-known/webfinger?${new URLSearchParams(parameters).toString()}`);

describe('the resource of a domain of WEBFINGER_DOMAINS', () => {
  test.each([
    'acct:ada@example.com',
    'acct:nobody@example.com',
    'acct:ada%40lovelace@EXAMPLE.COM',
    'https://example.com/ada',
    'https://example.com:8443',
    'acct:ada@xn--bcher-kva.example',
    'acct:ada@bücher.example',
  ])(
    '%s has the issuer, whether there is such a user or not (RFC 7033 4.4, OpenID Connect Discovery 2.1)',
    async (resource) => {
      const { status, headers, body } = await find(['resource', resource], ['rel', relation]);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/jrd+json; charset=utf-8');
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(body).toEqual({ subject: resource, links: [{ rel: relation, href: service.issuer }] });
    },
  );

  test('has the links that the request asks for, and all without rel (RFC 7033 4.3)', async () => {
    const resource: [string, string] = ['resource', 'acct:ada@example.com'];
    expect((await find(resource)).body['links']).toHaveLength(1);
    expect((await find(resource, ['rel', 'avatar'])).body).toEqual({ subject: 'acct:ada@example.com', links: [] });
    expect((await find(resource, ['rel', 'avatar'], ['rel', relation])).body['links']).toHaveLength(1);
  });
});

test.each([
  'acct:ada@other.example',
  'acct:ada@sub.example.com',
  'acct:ada@example.com.other.example',
  'acct:ada@example.com/other',
  'acct:ada@other.example@example.com',
  'https://example.com.other.example/',
  'https://example.com@other.example/',
  'http://example.com/',
  'mailto:ada@example.com',
  'ada@example.com',
  'example.com',
])('the resource %s is unknown (RFC 7033 4.2)', async (resource) => {
  const { status, body } = await find(['resource', resource]);
  expect(status).toBe(404);
  expect(body['error']).toBe('not_found');
});

test('a request without one resource is refused (RFC 7033 4.2)', async () => {
  for (const parameters of [
    [],
    [['resource', '']],
    [
      ['resource', 'acct:a@example.com'],
      ['resource', 'acct:b@example.com'],
    ],
  ])
    expect((await find(...(parameters as [string, string][]))).status).toBe(400);
});
