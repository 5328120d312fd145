// Plants a scope: its line with the claims that it releases, and its words.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scopeClaims } from '../../src/oauth/scope.ts';
import { call, obtainTokens, userinfo } from '../helpers/grants.ts';
import type { TestService } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';
import { approvalPage, discovery, createInConsole, startWithWords } from './planted.ts';

const name = 'example_birthday';
const words = { en: 'Know when you were born', de: 'Wissen, wann Sie geboren sind', ar: 'معرفة تاريخ ميلادك' };

let service: TestService;
beforeAll(async () => {
  scopeClaims[name] = ['birthdate'];
  service = await startWithWords(`scope.${name}`, words);
});
afterAll(async () => {
  Reflect.deleteProperty(scopeClaims, name);
  await service?.stop();
});

test('the consent page asks for a planted scope in each language, and the scope releases its claims (architecture, extension points)', async () => {
  const client = await service.createClient({ scope: `openid ${name}` });
  const user = await service.createUser({ claims: { birthdate: '1990-01-01', name: 'Ada' } });
  const parameters = { scope: `openid ${name}` };
  for (const [locale, text] of Object.entries(words)) {
    const agent = new UserAgent(service, { 'accept-language': locale });
    const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client, parameters)));
    expect((await agent.signIn(user, page)).body).toContain(text);
  }
  const { access_token } = await obtainTokens(service, client, user, parameters);
  expect((await userinfo(service.issuer, access_token)).body).toEqual({ sub: user.sub, birthdate: '1990-01-01' });
});

test('discovery lists the planted scope, and a client registers it (architecture, extension points)', async () => {
  expect((await discovery(service))['scopes_supported']).toContain(name);
  const body = { redirect_uris: ['https://rp.example.com/callback'], scope: `openid ${name}` };
  expect(await call(`${service.issuer}/register`, { body })).toMatchObject({
    status: 201,
    body: { scope: `openid ${name}` },
  });
});

test('an administrator reads the words of the planted scope, and chooses it for a client in the console (architecture, extension points)', async () => {
  const { form, client } = await createInConsole(service, { scope: name });
  expect(form).toContain(words.en);
  expect(client.metadata.scope.split(' ')).toContain(name);
  expect(await approvalPage(service, { scope: `openid ${name}` })).toContain(words.en);
});
