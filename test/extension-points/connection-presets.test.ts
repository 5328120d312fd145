// Shows that each preset of a connection is in all the lists that a preset needs.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formOfType } from '../../src/admin/console/connections/form.ts';
import { connectionTypes, typeOf } from '../../src/admin/console/connections/types.ts';
import { oauthPresets } from '../../src/domain/connections/oauth/presets.ts';
import { oidcPresets } from '../../src/domain/connections/oidc/presets.ts';
import { presets } from '../../src/entities/connections.ts';
import { settingsVariant } from '../helpers/connection-variants.ts';

const kinds = { oidc: oidcPresets([]), oauth: oauthPresets([]) };
const kindsOf = (preset: string) =>
  (Object.keys(kinds) as (keyof typeof kinds)[]).filter((kind) => kinds[kind](preset) !== undefined);

test.each([...presets])(
  'the preset %s is of one kind, has a form and a recorded answer (architecture, extension points)',
  (preset) => {
    const [kind, ...others] = kindsOf(preset);
    expect(others).toEqual([]);
    const type = typeOf({ kind: kind!, preset });
    expect(type).toMatchObject({ name: preset });
    // the form asks for settings that the preset has
    const variant = kinds[kind!](preset)!;
    const asked = formOfType(type!, variant).filter(({ inside }) => inside === 'settings');
    expect(asked.length).toBeGreaterThan(0);
    const unknown = variant.shape.safeParse(Object.fromEntries(asked.map(({ name }) => [name, 'x'])));
    expect(unknown.error?.issues.filter(({ code }) => code === 'unrecognized_keys') ?? []).toEqual([]);
    const fixtures = ['id-token', 'user'].map((name) => `../fixtures/connections/${preset}-${name}.json`);
    expect(fixtures.some((file) => existsSync(new URL(file, import.meta.url)))).toBe(true);
  },
);

test('each form of the console is of a kind or of a preset, and a name that is none is neither (architecture, extension points)', () => {
  for (const { kind, preset } of connectionTypes)
    expect(
      kind === 'saml' ? settingsVariant({ kind }).settings : kinds[kind as keyof typeof kinds](preset)?.settings,
    ).toBeDefined();
  for (const name of ['none', '__proto__', 'constructor', 'toString', '']) expect(kindsOf(name)).toEqual([]);
});

test.each([
  ['google', undefined],
  ['apple', true],
  ['microsoft', undefined],
  ['github', undefined],
])('a new connection of %s has trust_email %j (security R157)', (preset, trustEmail) => {
  expect(kinds[kindsOf(preset)[0]!](preset)!.starts?.['trust_email']).toBe(trustEmail);
});

test('Google, Apple and Microsoft have fixed addresses if OUTBOUND_ALLOW names no test system (federation FR2)', () => {
  const { google, apple, microsoft } = {
    google: { client_id: 'x', issuer: 'https://accounts.google.com' },
    apple: { client_id: 'x', team_id: 'TEAM000001', key_id: 'KEY0000001', issuer: 'https://appleid.apple.com' },
    microsoft: { client_id: 'x', tenants: ['11111111-1111-4111-8111-111111111111'] },
  };
  const valid = (preset: string, given: object) => kinds.oidc(preset)!.shape.safeParse(given).success;
  expect([valid('google', google), valid('apple', apple), valid('microsoft', microsoft)]).toEqual([true, true, true]);
  for (const other of ['https://evil.example', 'https://accounts.google.com/', 'https://accounts.google.com:444', '']) {
    expect(valid('google', { ...google, issuer: other })).toBe(false);
    expect(valid('apple', { ...apple, issuer: other })).toBe(false);
    expect(valid('microsoft', { ...microsoft, authority: other })).toBe(false);
  }
});
