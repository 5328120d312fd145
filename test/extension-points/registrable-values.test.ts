// Holds each list of registrable values to its words in every language, and to the code that serves its values.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientKinds } from '../../src/admin/operations/client-kinds/kinds.ts';
import { authenticationMethods } from '../../src/client-authentication/methods.ts';
import { clientAuthenticationMethods, grantTypes as registrable, namesOf } from '../../src/oauth/registrable-values.ts';
import { administratorScopes, registrableScopes } from '../../src/oauth/scope.ts';
import { subjectTypes } from '../../src/oauth/subject-type.ts';
import { grantTypes } from '../../src/protocol/token/grants/grant-types.ts';
import { translation } from '../pages/page-states/state.ts';

/** Each list by the key of its words; the names of algorithms and response types are shown as they are. */
const lists: Record<string, readonly string[]> = {
  'registration.grant': namesOf(registrable),
  'registration.method': namesOf(clientAuthenticationMethods),
  'console.option.subject_type': subjectTypes,
  'console.kind': clientKinds.flatMap(({ name }) => [name, `${name}.text`]),
  scope: [...registrableScopes(), ...administratorScopes],
};

/** Returns the keys that a language lacks. */
const missing = (locale: string, ofLists = lists) => {
  const messages = translation(locale);
  const keys = Object.entries(ofLists).flatMap(([kind, values]) => values.map((value) => `${kind}.${value}`));
  return keys.filter((key) => !Object.hasOwn(messages, key));
};

test.each(['en', 'de', 'ar'])('each registrable value has words in %s (architecture, extension points)', (locale) => {
  expect(missing(locale)).toEqual([]);
});

test('a registrable value without words is found (architecture, extension points)', () => {
  expect(missing('de', { scope: ['openid', 'example'] })).toEqual(['scope.example']);
});

test('each registrable grant type and authentication method is served, and no other (architecture, extension points)', () => {
  // a grant type and a method can be made without the service, as long as no request uses them
  const served = grantTypes.map((grantType) => grantType({ store: {}, tokens: {} } as never).name);
  // the implicit grant has no token request
  expect(new Set([...served, 'implicit'])).toEqual(new Set(namesOf(registrable)));
  expect(authenticationMethods.map((method) => method({} as never).name)).toEqual(namesOf(clientAuthenticationMethods));
});

test('rules and statements read the properties of an authentication method, and compare no names (architecture, extension points)', () => {
  const names = /'(client_secret_(basic|post|jwt)|private_key_jwt)'/;
  const files = globSync('src/{oauth,interaction,login,protocol,repositories,server}/**/*.{ts,sql}');
  const comparing = files.filter((file) => names.test(readFileSync(file, 'utf8')));
  // the list itself, and the default of a registration
  expect(comparing.toSorted()).toEqual(['src/oauth/client-metadata.ts', 'src/oauth/registrable-values.ts']);
  expect(readFileSync('src/oauth/client-metadata.ts', 'utf8').split(names).length).toBe(4);
});
