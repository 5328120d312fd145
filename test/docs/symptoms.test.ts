// The page of symptoms quotes messages and codes as the code has them, so that a reader who searches for one finds it.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { errorCodes } from '../../src/oauth/errors.ts';
import { translation } from '../pages/page-states/index.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/sign-in-fails.md'), 'utf8');
const messages = new Set(Object.values(translation('en')).flatMap((message) => typeof message === 'string' ? [message] : Object.values(message)));
const code = globSync('src/**/*.ts', { cwd: root })
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n');

test('each message on the page of symptoms is one of the pages or of the answers, word by word (decisions section 8)', () => {
  const quoted = [...page.matchAll(/“([^”]+)”/g)].map(([, text]) => text!);
  expect(quoted.length).toBeGreaterThan(25);
  expect(quoted.filter((text) => !messages.has(text) && !code.includes(text))).toEqual([]);
});

test('each error code that is a symptom exists, and so does each reason (decisions section 8)', () => {
  const symptoms = [...page.matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name!);
  expect(symptoms.length).toBeGreaterThan(3);
  expect(symptoms.filter((name) => !(errorCodes as readonly string[]).includes(name))).toEqual([]);
  const reasons = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name!);
  expect(reasons.filter((name) => !code.includes(`'${name}'`))).toEqual([]);
});
