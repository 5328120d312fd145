// Each refusal of client metadata has a sentence of the catalogues, at a field of the console's form.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { faultOf } from '../../src/admin/console/clients/faults.ts';

const source = (file: string) => readFileSync(join(import.meta.dirname, '../../src', file), 'utf8');
const literal = /(?:'((?:[^'\\\n]|\\.)+)'|`([^`]+)`)/.source;
const literalsAfter = (text: string, before: string) =>
  [...text.matchAll(new RegExp(`(?:${before})\\s*${literal}`, 'g'))].map((match) => match[1] ?? match[2]!);

const metadata = source('oauth/client-metadata.ts');
const shape = metadata.slice(metadata.indexOf('const displayText'), metadata.indexOf('export const registrableFields'));
const thrown = [
  ...literalsAfter(metadata, 'invalid(?:ClientMetadata|RedirectUri)\\('),
  ...literalsAfter(source('oauth/client-addresses.ts'), 'invalid(?:ClientMetadata|RedirectUri)\\('),
  ...literalsAfter(source('oauth/subject-type.ts'), 'return(?= .[a-z]+[ _])'),
  ...literalsAfter(source('domain/sector-check.ts'), 'refused\\('),
].filter((sentence) => !/^\$\{|plain\(/.test(sentence) && sentence.includes(' '));
const rules = literalsAfter(shape, 'error:|,').filter((text) => /^(must|is|holds) /.test(text));

test('a refusal by several members is told at one of them (issue 6)', () => {
  expect(thrown.length).toBeGreaterThan(25);
  for (const sentence of thrown) {
    const said = sentence
      .replace('${missing}', 'implicit')
      .replace(/\$\{(response|enc)\}(_\w+)?/g, (_all, name: string, rest = '') =>
        name === 'enc' ? 'userinfo_encrypted_response_enc' : `userinfo${rest as string}`,
      )
      .replace(/\$\{[^}]*\}/g, 'RS256');
    expect(faultOf(said)?.fault.code ?? 'none', said).not.toMatch(/^(none|invalid)$/);
  }
});

test('a refusal of one member has a sentence of its own (issue 6)', () => {
  expect(rules.length).toBeGreaterThan(15);
  // numbers the form reads itself
  const others = rules.filter((rule) => !rule.endsWith('whole number of seconds'));
  for (const rule of others) expect(faultOf(`jwks ${rule}`)?.fault.code, rule).not.toBe('invalid');
});
