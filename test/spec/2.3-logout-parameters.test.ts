// Specification section 2.3: tests the parameters of a logout request, under the service's names and the standard's.
import { decodeJwt } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import type { TestClient } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';
import { type Page } from '../helpers/user-agent.ts';
import { type CodeFlow, runCodeFlow, second, signedOutUri, useService, wholeClient } from './kit.ts';

const service = useService();
let client: TestClient;
beforeAll(async () => {
  client = await service().createClient(wholeClient);
});

const logout = (agent: UserAgent, parameters: Record<string, string>): Promise<Page> =>
  agent.get(`/logout?${new URLSearchParams(parameters).toString()}`);
const isQuestion = (page: Page) => page.status === 200 && page.body.includes('id="sign-out"');
const signOut = async ({ agent }: CodeFlow, parameters: Record<string, string>): Promise<Page> =>
  agent.submit(await logout(agent, parameters), { decision: 'sign-out' });

test('2.3 id-token-hint: an ID Token of the service identifies the client, although the service is not an audience (decisions 6)', async () => {
  const { agent, tokens } = await runCodeFlow(service(), client);
  expect(decodeJwt(tokens.id_token).aud).toBe(client.clientId);
  const page = await logout(agent, { 'id-token-hint': tokens.id_token });
  expect(isQuestion(page)).toBe(true);
  expect(page.body).toContain('Harbour');
});

test('2.3 id-token-hint: for a token that the service did not sign, the service shows an error page (decisions 6)', async () => {
  const { agent, tokens } = await runCodeFlow(service(), client);
  const [header, payload] = tokens.id_token.split('.');
  expect((await logout(agent, { 'id-token-hint': `${header}.${payload}.AAAA` })).status).toBe(400);
});

test('2.3 id-token-hint: it is recommended, and a logout without it also asks the user (decisions 6)', async () => {
  const { agent } = await runCodeFlow(service(), client);
  expect(isQuestion(await logout(agent, {}))).toBe(true);
});

test('2.3 post-logout-redirect-uri: a registered one is used when the hint identifies its client (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const hint = { 'id-token-hint': mine.tokens.id_token };
  expect((await signOut(mine, { ...hint, 'post-logout-redirect-uri': signedOutUri })).location).toBe(signedOutUri);
});

test('2.3 post-logout-redirect-uri: without a registration or an identified client there is no redirect (decisions 6)', async () => {
  const { agent, tokens } = await runCodeFlow(service(), client);
  const hint = { 'id-token-hint': tokens.id_token };
  for (const parameters of [
    { ...hint, 'post-logout-redirect-uri': 'https://evil.example/' },
    { 'post-logout-redirect-uri': signedOutUri },
  ] as Record<string, string>[]) {
    const page = await logout(agent, parameters);
    expect([page.status, page.location]).toEqual([400, undefined]);
  }
});

test('2.3 post-logout-redirect-uri: it is optional, and without it a page says that the user is signed out (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const page = await signOut(mine, { 'id-token-hint': mine.tokens.id_token });
  expect([page.status, page.location]).toEqual([200, undefined]);
  expect((await mine.agent.get(`${second(service())}/account`)).status).toBe(303);
});

test('2.3 state: the redirect returns it unchanged, and it is optional (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const state = 'a b&✓';
  const parameters = { 'id-token-hint': mine.tokens.id_token, 'post-logout-redirect-uri': signedOutUri, state };
  const { location } = await signOut(mine, parameters);
  expect(new URL(location!).searchParams.get('state')).toBe(state);
});

test('2.3 names: the names of the standard, with underscores, also work (decisions 6)', async () => {
  const mine = await runCodeFlow(service(), client);
  const parameters = { id_token_hint: mine.tokens.id_token, post_logout_redirect_uri: signedOutUri };
  expect((await signOut(mine, parameters)).location).toBe(signedOutUri);
});

test('2.3 names: both names with different values are an error, with the same value they are not (decisions 6)', async () => {
  const { agent, tokens } = await runCodeFlow(service(), client);
  const hyphenated = { 'id-token-hint': tokens.id_token };
  expect((await logout(agent, { ...hyphenated, id_token_hint: 'another' })).status).toBe(400);
  expect(isQuestion(await logout(agent, { ...hyphenated, id_token_hint: tokens.id_token }))).toBe(true);
});
