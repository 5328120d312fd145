// A flood of sign-ins fills the queue of password hashes; further sign-ins are refused with their form, and other requests are served.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { guesser } from '../attacks/guesses.ts';
import { obtainTokens, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    fullPasswordWork: true,
    environment: { ...withoutLimits, PASSWORD_HASH_CONCURRENCY: '1', PASSWORD_HASH_QUEUE: '4' },
  });
});
afterAll(() => service?.stop());

test('of 400 parallel sign-ins those beyond the queue get 503 and Retry-After, while keys, tokens and a known browser are served (security R102, F13)', async () => {
  const user = await service.createUser();
  const client = await service.createClient();
  const knownBrowser = new UserAgent(service);
  const tokens = await obtainTokens(service, client, user);
  await knownBrowser.signIn(user);
  const [guess, guessOwn] = [await guesser(service, 'nobody "at" all'), await guesser(service, user.username)];
  const flood = Promise.all(Array.from({ length: 400 }, () => guess('a wrong password')));
  const others = Promise.all([
    guessOwn(user.password, { agent: knownBrowser }),
    fetch(`${service.issuer}/jwks`),
    refresh(service.issuer, client, tokens.refresh_token),
  ]);
  const answers = await flood;
  expect((await others).map(({ status }) => status)).toEqual([303, 200, 200]);
  const refused = answers.filter(({ status }) => status === 503);
  expect(answers.filter(({ status }) => status === 400)).toHaveLength(400 - refused.length);
  expect(refused.length).toBeGreaterThan(300);
  for (const { headers, body } of refused) {
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(body).not.toContain('a wrong password');
  }
  expect(refused[0]!.body).toContain('Too many sign-ins right now');
  expect(refused[0]!.body).toContain('value="nobody &quot;at&quot; all"');
});
