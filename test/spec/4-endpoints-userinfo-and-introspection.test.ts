// Specification sections 4.6 and 4.8: tests UserInfo and introspection, by method, path, headers and answers.
import { beforeAll, expect, test } from 'vitest';
import { call } from '../helpers/grants.ts';
import { startTestService } from '../helpers/service.ts';
import { type CodeFlow, form, introspect, runCodeFlow, second, useService, wholeClient } from './kit.ts';

const service = useService();
let mine: CodeFlow;
beforeAll(async () => {
  mine = await runCodeFlow(service(), await service().createClient(wholeClient));
});
const address = () => `${second(service())}/user/info`;

test('4.6 UserInfo: the path is /user/info, and discovery names it (decisions 1)', async () => {
  const { body } = await call(`${service().issuer}/.well-known/openid-configuration`);
  expect(body['userinfo_endpoint']).toBe(`${service().issuer}/user/info`);
});

test('4.6 UserInfo: a GET with the access token as Bearer token returns 200 and the claims as JSON (decisions 5)', async () => {
  const { status, headers, body } = await call(address(), { token: mine.tokens.access_token });
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  expect(headers.get('cache-control')).toContain('no-store');
  expect(body).toMatchObject({ sub: mine.user.sub, name: 'Ada Lovelace', email: mine.user.email });
});

test('4.6 UserInfo: a POST is refused with 405 and Allow (decisions 7)', async () => {
  const headers = { authorization: `Bearer ${mine.tokens.access_token}` };
  const refused = await form(address(), {}, headers);
  expect(refused).toMatchObject({ status: 405, body: { error: 'invalid_request' } });
  expect(refused.headers.get('allow')).toBe('GET');
});

test('4.6 UserInfo: USERINFO_POST=true enables the POST that the standard requires (decisions 7)', async () => {
  const standard = await startTestService({ environment: { USERINFO_POST: 'true' } });
  try {
    const { tokens, user } = await runCodeFlow(standard, await standard.createClient(wholeClient));
    const { status, body } = await form(`${standard.issuer}/user/info`, { access_token: tokens.access_token });
    expect([status, body['sub']]).toEqual([200, user.sub]);
  } finally {
    await standard.stop();
  }
});

test('4.6 UserInfo: the header Authorization: Bearer is the only way to send the token (decisions 5)', async () => {
  const { access_token, id_token, refresh_token } = mine.tokens;
  expect((await call(`${address()}?access_token=${access_token}`)).status).toBe(401);
  expect((await call(address(), { headers: { authorization: mine.client.basic } })).status).toBe(401);
  for (const token of [id_token, refresh_token, mine.code]) expect((await call(address(), { token })).status).toBe(401);
});

test('4.6 UserInfo: an error is one of RFC 6750 (decisions 5)', async () => {
  const { status, headers } = await call(address(), { token: 'nonsense' });
  expect(status).toBe(401);
  expect(headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
});

test('4.8 Token introspection: it is POST /introspect, and discovery names it (decisions 1)', async () => {
  const { body } = await call(`${service().issuer}/.well-known/openid-configuration`);
  expect(body['introspection_endpoint']).toBe(`${service().issuer}/introspect`);
  const answer = await fetch(`${second(service())}/introspect`, { headers: { authorization: mine.client.basic } });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
});

test('4.8 Token introspection: HTTP Basic authenticates the caller, and so do the other registered methods (decisions 4)', async () => {
  const { client, tokens } = mine;
  expect((await introspect(second(service()), client, tokens.access_token)).body['active']).toBe(true);
  const posting = await service().createClient({ ...wholeClient, token_endpoint_auth_method: 'client_secret_post' });
  const other = await runCodeFlow(service(), await service().createClient(wholeClient));
  const { status } = await form(`${second(service())}/introspect`, {
    token: other.tokens.access_token,
    client_id: posting.clientId,
    client_secret: posting.clientSecret,
  });
  expect(status).toBe(200);
  expect((await form(`${second(service())}/introspect`, { token: tokens.access_token })).status).toBe(401);
});

test('4.8 Token introspection: the body is a form, and any other content type is refused with 415 (decisions 7)', async () => {
  const body = { token: mine.tokens.access_token };
  const answer = await call(`${second(service())}/introspect`, { body, headers: { authorization: mine.client.basic } });
  expect(answer).toMatchObject({ status: 415, body: { error: 'invalid_request' } });
});

test('4.8 Token introspection: the answer is 200 with JSON and no-store (decisions 4)', async () => {
  const answer = await form(
    `${second(service())}/introspect`,
    { token: mine.tokens.access_token },
    { authorization: mine.client.basic, accept: 'application/json' },
  );
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
});

test('4.8 Token introspection: a refresh token is not supported, with or without its hint (decisions 4)', async () => {
  const { client, tokens } = mine;
  const hint = { token_type_hint: 'refresh_token' };
  expect((await introspect(second(service()), client, tokens.refresh_token, hint)).status).toBe(400);
  expect((await introspect(second(service()), client, tokens.refresh_token)).body).toEqual({ active: false });
});
