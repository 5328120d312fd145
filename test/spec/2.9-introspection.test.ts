// Specification sections 2.9 and 2.10: tests the fields of an introspection request and of its answer, row by row.
import { beforeAll, expect, test } from 'vitest';
import type { TestClient } from '../helpers/service.ts';
import { type CodeFlow, everyScope, form, introspect, runCodeFlow, second, useService, wholeClient } from './kit.ts';

const service = useService();
let client: TestClient;
let mine: CodeFlow;
let answer: Record<string, unknown>;
beforeAll(async () => {
  client = await service().createClient(wholeClient);
  mine = await runCodeFlow(service(), client, { nonce: 'n' });
  answer = (await introspect(second(service()), client, mine.tokens.access_token)).body;
});

test('2.9 token: it is required, exactly once (decisions 4)', async () => {
  const headers = { authorization: client.basic };
  for (const fields of ['', 'token=a&token=b', 'token='])
    expect(await form(`${second(service())}/introspect`, fields, headers)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
});

test('2.9 token_type_hint: it is optional (decisions 4)', () => {
  expect(answer['active']).toBe(true);
});

test('2.9 token_type_hint: access_token covers all opaque values, also codes and handles (decisions 4)', async () => {
  const { access_token, client_session_handle } = mine.tokens;
  const hint = { token_type_hint: 'access_token' };
  for (const token of [access_token, mine.code, client_session_handle])
    expect((await introspect(second(service()), client, token, hint)).body['active']).toBe(true);
});

test('2.9 token_type_hint: pct covers JSON Web Tokens (decisions 4)', async () => {
  const { body } = await introspect(second(service()), client, mine.tokens.id_token, { token_type_hint: 'pct' });
  expect(body).toMatchObject({ active: true, extension_field: 'id_token', sub: mine.user.sub });
});

test('2.9 token_type_hint: refresh_token and unknown hints are refused (decisions 4)', async () => {
  for (const token_type_hint of ['refresh_token', 'cookie'])
    expect(await introspect(second(service()), client, mine.tokens.refresh_token, { token_type_hint })).toMatchObject({
      status: 400,
      body: { error: 'unsupported_token_type' },
    });
});

test('2.10 active: true for a valid token, and the only field for any other (decisions 4)', async () => {
  expect(answer['active']).toBe(true);
  const dead = await introspect(second(service()), client, mine.tokens.refresh_token);
  expect(dead).toMatchObject({ status: 200, body: { active: false } });
  expect(Object.keys(dead.body)).toEqual(['active']);
});

test('2.10 client_id: the client to which the token was issued (decisions 4)', () => {
  expect(answer['client_id']).toBe(client.clientId);
});

test('2.10 username: the name with which the End-User signs in (decisions 4)', () => {
  expect(answer['username']).toBe(mine.user.username);
});

test('2.10 scope: the granted scopes, separated by spaces (decisions 4)', () => {
  expect(answer['scope']).toBe(everyScope);
});

test('2.10 sub: the subject, as in the ID Token (decisions 4)', () => {
  expect(answer['sub']).toBe(mine.user.sub);
});

test('2.10 aud: always an array (decisions 4)', () => {
  expect(answer['aud']).toEqual([client.clientId]);
});

test('2.10 iss: the issuer, the same on every instance (decisions 4)', () => {
  expect(answer['iss']).toBe(service().issuer);
});

test('2.10 exp: whole seconds, ten minutes after the token was issued (decisions 4)', () => {
  expect(Number.isInteger(answer['exp'])).toBe(true);
  expect((answer['exp'] as number) - (answer['iat'] as number)).toBe(600);
});

test('2.10 iat: whole seconds, the time at which the token was issued (decisions 4)', () => {
  expect(Number.isInteger(answer['iat'])).toBe(true);
  expect(Math.abs((answer['iat'] as number) - Date.now() / 1000)).toBeLessThan(60);
});

test('2.10 token_type: Bearer (decisions 4)', () => {
  expect(answer['token_type']).toBe('Bearer');
});

test('2.10 extension_field: the kind of the token (decisions 4)', async () => {
  expect(answer['extension_field']).toBe('access_token');
  const { body } = await introspect(second(service()), client, mine.code);
  expect(body['extension_field']).toBe('authorization_code');
});

test('2.10 extended_claims: the claims of the scopes, and how the End-User was authenticated (decisions 4)', () => {
  expect(answer['extended_claims']).toMatchObject({
    groups: ['harbour', 'staff'],
    name: 'Ada Lovelace',
    auth_time: expect.any(Number),
    acr: expect.any(String),
    amr: ['pwd'],
    sid: expect.any(String),
    nonce: 'n',
  });
});
