// The first passkey of an account changes its sign-in by password: the page where it is added says so, to whom it concerns.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Authenticator, passkeyForm } from '../helpers/passkey.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const path = '/account/passkeys';
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}
/** What the page says of the sign-in after a first passkey. */
async function said(agent: UserAgent, language = 'en'): Promise<string | undefined> {
  const { body } = await agent.get(path, { 'accept-language': language });
  return /<p class="notice" id="first">([^<]*)</.exec(body)?.[1];
}
async function add(agent: UserAgent): Promise<void> {
  const { action, options, fields } = passkeyForm(await agent.get(path));
  await agent.post(action, { ...fields, credential: new Authenticator(service.issuer).create(options) });
}
const afterPassword = async (user: TestUser) => new URL((await new UserAgent(service).signIn(user)).url).pathname;

test.each([
  ['en', /your password alone is no longer enough/],
  ['de', /genügt Ihr Passwort allein nicht mehr/],
  ['ar', /لن تكفي كلمة المرور وحدها/],
])(
  'before the first passkey the page says in %s that the password will not be enough, which is so (decisions section 3)',
  async (language, sentence) => {
    const user = await service.createUser();
    const agent = await signedIn(user);
    expect(await said(agent, language)).toMatch(sentence);
    expect(await afterPassword(user)).toBe('/account');
    // who has to sign in again first reads it as well
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '1 hour' WHERE sub = $1`, [
      user.sub,
    ]);
    expect(await said(agent, language)).toMatch(sentence);
    const other = await signedIn(user);
    await add(other);
    expect(await afterPassword(user)).toBe('/login/second-factor');
    expect(await said(other, language)).toBeUndefined();
  },
);

test('who has an authenticator or no password is not told what does not change for them (decisions section 3)', async () => {
  const [armed, bare] = [await service.createUser(), await service.createUser()];
  const agents = [await signedIn(armed), await signedIn(bare)];
  await service.database.sql(
    `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step) VALUES ('a-1', $1, 'Phone', decode(repeat('03', 16), 'hex'), 1)`,
    [armed.sub],
  );
  await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [bare.sub]);
  for (const agent of agents) {
    expect((await agent.get(path)).body).toMatch(/id="(use-passkey|sign-in-again)"/);
    expect(await said(agent)).toBeUndefined();
  }
});
