// Declares scopes for claims: scopes of an operator that release claims of users to clients, beside the standard scopes (federation 7).
import { z } from 'zod';
import { displayText, isNoFolder } from '../oauth/display-text.ts';
import { languageTag } from '../oauth/language-tag.ts';
import { rule } from '../oauth/refusals.ts';
import { isReleasable, scopeWord } from '../rules/claims/claim-shapes.ts';
import { entity, type EntityOf, member } from './entity.ts';
import { textByLanguage } from './field.ts';

export const maxScopes = 100;

export const scopes = entity({
  table: 'scopes',
  one: 'scope',
  permission: 'claims',
  section: 'attributes',
  key: 'name',
  called: 'name',
  most: maxScopes,
  members: {
    name: member('The word that clients send in scope; it stays.', scopeWord.refine(isNoFolder, rule('dots')), {
      required: true,
      fixed: true,
      form: { kind: 'text', most: 100 },
      list: true,
    }),
    text: member('The text that users read on the consent page, by language.', z.record(languageTag, displayText), {
      start: {},
      form: { kind: 'lines', lines: 4, typing: textByLanguage },
      list: true,
    }),
    claims: member(
      'The claims that the scope releases: attributes and standard claims.',
      z
        .array(z.string(rule('string')).refine(isReleasable, rule('claims-known')))
        .min(1, rule('empty'))
        .max(50, rule('entries', { most: '50' }))
        .refine((all) => new Set(all).size === all.length, rule('scope-twice')),
      { required: true, option: 'claim', form: { kind: 'lines', lines: 4, picks: 'claims' }, list: 'tag' },
    ),
  },
});

export type ClaimScope = EntityOf<typeof scopes>;
