// Mutates good messages of SAML at random: none may be admitted with a value that its signature does not cover, and none may end in another error.
// SAML_FUZZ_RUNS is the number of messages of each kind, and SAML_FUZZ_SEED repeats a run.
import { expect, test } from 'vitest';
import { fuzzAuthnRequests, type Fuzzed, fuzzLogoutRequests, fuzzResponses, told } from './saml-mutations.ts';

const runs = Number(process.env['SAML_FUZZ_RUNS'] ?? 150);
const seed = Number(process.env['SAML_FUZZ_SEED'] ?? Date.now() % 1_000_000_000);

test.each<[string, (many: number, start: number) => Promise<Fuzzed>]>([
  ['response is admitted with a value that its signature does not cover (federation FR20, F35)', fuzzResponses],
  ['LogoutRequest ends a session that its signature does not name (federation FR20, F48)', fuzzLogoutRequests],
  ['AuthnRequest gets an address that its signature does not cover (federation FR20, F45)', fuzzAuthnRequests],
])('no mutated %s', async (_what, fuzz) => {
  const fuzzed = await fuzz(runs, seed);
  process.stdout.write(told(fuzzed));
  expect(fuzzed.messages).toBe(runs);
});
