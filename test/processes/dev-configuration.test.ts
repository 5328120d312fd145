// The configuration of `gatehouse dev`: a fault is one sentence, which says where it is and what would be right.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startDevProcess } from '../helpers/dev-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-dev-configuration-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const client = `clients:
  shop:
    client_name: Shop
    client_secret: shop-secret
    redirect_uris: [http://127.0.0.1:5555/callback]
`;

/** Starts, which must fail. @returns what it prints */
async function refusalOf(words: string[], home: string): Promise<string> {
  const { exited, output, ready, stop } = startDevProcess(home, words);
  const started = await ready().catch(() => undefined);
  if (started) await stop();
  expect({ code: await exited, stdout: output.stdout }).toEqual({ code: 1, stdout: '' });
  return output.stderr;
}

/** Starts with a configuration that has a fault. @returns what it prints */
async function faultOf(text: string, name: string): Promise<string> {
  const file = join(folder, name);
  writeFileSync(file, text);
  return refusalOf(['--config', file], join(folder, `home of ${name}`));
}

test('a fault of a user names its line and what is right, before a database is made (delivery 5)', async () => {
  for (const [users, sentence] of [
    [
      '  alice:\n    password: alice\n    emial: a@example.com\n',
      'line 9 of u.yaml: users.alice: emial is unknown: the most similar names are email, ',
    ],
    ['  alice: { status: gone }\n', 'line 7 of u.yaml: users.alice: status must be enabled or disabled'],
    ['  alice: { totp: short }\n', 'line 7 of u.yaml: users.alice: totp must be a secret in base32'],
    [
      '  alice: { groups: [crw] }\ngroups:\n  crew: {}\n',
      'line 7 of u.yaml: users.alice: groups: crw is unknown: the most similar names are crew',
    ],
  ] as const)
    expect(await faultOf(`${client}users:\n${users}`, 'u.yaml')).toContain(`The configuration is wrong: ${sentence}`);
  expect(existsSync(join(folder, 'home of u.yaml'))).toBe(false);
});

test('a fault of a client names its line and what is right (delivery 5)', async () => {
  for (const [member, sentence] of [
    [
      '    grnt_types: []\n',
      'line 6 of c.yaml: clients.shop: grnt_types is unknown: the most similar names are grant_types, ',
    ],
    ['    kind: device\n', 'line 6 of c.yaml: clients.shop: kind must be one of '],
  ] as const)
    expect(await faultOf(client + member, 'c.yaml')).toContain(`The configuration is wrong: ${sentence}`);
  const elsewhere = await faultOf(client.replace('127.0.0.1:5555', 'shop.test'), 'c.yaml');
  expect(elsewhere).toMatch(/line 5 of c.yaml: clients.shop: redirect_uris .*development: true also allows http/);
});

test('an address of this machine at which its issuer would not answer is refused (delivery 5)', async () => {
  expect(await refusalOf(['--listen', '127.0.0.2'], folder)).toContain('--listen must be localhost');
});
