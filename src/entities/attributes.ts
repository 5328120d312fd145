// Declares attributes: data about users that an operator stores beside the standard claims (federation 7).
import { z } from 'zod';
import { displayText } from '../oauth/display-text.ts';
import { languageTag } from '../oauth/language-tag.ts';
import { rule } from '../oauth/refusals.ts';
import { attributeTypes, isAttributeName, isChoice, maxAttributes, personRights } from '../rules/claims/attributes.ts';
import { entity, member } from './entity.ts';
import { textByLanguage } from './field.ts';

export const attributes = entity({
  table: 'attributes',
  one: 'attribute',
  permission: 'claims',
  section: 'attributes',
  key: 'name',
  called: 'name',
  most: maxAttributes,
  members: {
    name: member(
      'Lowercase letters, digits and underscores; not the name of a standard or reserved claim.',
      z.string(rule('string')).refine(isAttributeName, rule('attribute-name')),
      { required: true, fixed: true, form: { kind: 'text', most: 50 }, list: true },
    ),
    type: member('The type of the values; it stays.', z.enum(attributeTypes), {
      required: true,
      fixed: true,
      form: 'select',
      list: 'tag',
    }),
    label: member('The name that users see, by language.', z.record(languageTag, displayText), {
      start: {},
      form: { kind: 'lines', lines: 4, typing: textByLanguage },
      list: true,
    }),
    choices: member(
      'The only values that are allowed, for texts, numbers and lists.',
      z
        .array(z.string(rule('string')).refine(isChoice, rule('text')))
        .min(1, rule('empty'))
        .max(200, rule('entries', { most: '200' })),
      { json: true, option: 'choice', form: { kind: 'lines', lines: 4 } },
    ),
    max: member(
      'The maximum number of characters of a text or of entries of a list, or the largest number.',
      z.int(rule('whole-number')).min(1, rule('positive')).max(2_147_483_647, rule('positive')),
      { form: 'number' },
    ),
    person: member(
      'What users may do with their own value on the account pages: none, read or write.',
      z.enum(personRights),
      { start: 'none', form: 'select', list: 'tag' },
    ),
    unique: member('Whether each user needs a different value, for texts and numbers.', z.boolean(), {
      start: false,
      column: 'is_unique',
      form: 'check',
      list: 'tag',
    }),
  },
});
