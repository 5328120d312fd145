// Declares types of authorization details: what clients can ask users to allow in detail, such as one payment (RFC 9396).
import { z } from 'zod';
import { isNoFolder } from '../oauth/display-text.ts';
import { detailType } from '../oauth/authorization-details.ts';
import { languageTag } from '../oauth/language-tag.ts';
import { isLegible } from '../oauth/legible.ts';
import { rule } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';
import { maxDepth, type Schema } from '../rules/details/schema.ts';
import { acr } from '../rules/users/administration.ts';
import { entity, type EntityOf, member } from './entity.ts';
import { distinct, entriesOf } from './exchange-policies.ts';
import { textByLanguage } from './field.ts';

const maxSentence = 300;
/** Of the schema as JSON. */
const maxSchema = 16_384;
/** Characters of the shortest member in JSON, with its comma: "a":1, */
const shortest = 6;

const sentence = z
  .string(rule('string'))
  .transform((words) => words.normalize('NFC').trim())
  .refine((words) => words.length >= 1 && words.length <= maxSentence, rule('length', { most: String(maxSentence) }))
  .refine(isLegible, rule('characters'));

export const authorizationDetailsTypes = entity({
  table: 'authorization_details_types',
  one: 'authorization_details_type',
  permission: 'resources',
  section: 'resources',
  called: 'type',
  order: ['type', 'schema', 'text', 'resources', 'remembered', 'removable', 'without_user', 'required_acr', 'status'],
  find: 'id = $1 OR type = $1',
  versioned: true,
  notifies: true,
  members: {
    type: member(
      'The name that clients send as type. It cannot be changed.',
      z.string(rule('string')).regex(detailType, rule('detail-type')).refine(isNoFolder, rule('dots')),
      { required: true, fixed: true, form: { kind: 'text', most: 255, writing: 'ltr' }, list: true },
    ),
    schema: member(
      'The JSON Schema of the members beside type and locations, with the keywords that docs/authorization-details.md lists.',
      z
        .record(z.string(), z.unknown())
        .refine((schema) => JSON.stringify(schema).length <= maxSchema, rule('too-long', { most: String(maxSchema) })),
      {
        required: true,
        trust: true,
        // a level of a schema is one of its properties, too; of one level more the rule says what is wrong
        holds: { depth: 2 * (maxDepth + 1), members: Math.ceil(maxSchema / shortest) },
        // the administration has checked it
        convert: { read: (given: Record<string, unknown>): Schema => given, show: (schema: Schema) => schema },
        form: { kind: 'json', lines: 12 },
      },
    ),
    text: member(
      'The sentence that users read, by language. {member} stands for the value of a member, and {one.other} for a member of a member.',
      z.record(languageTag, sentence).refine((texts) => 'en' in texts, rule('detail-text')),
      {
        required: true,
        trust: true,
        form: { kind: 'lines', lines: 4, typing: textByLanguage },
      },
    ),
    resources: member(
      'The URIs of the resources that it is for: only their tokens have it. Without any, every token of the authorization has it.',
      entriesOf(text(512)).refine(distinct, rule('detail-resource-twice')),
      {
        start: [],
        trust: true,
        option: 'resource',
        form: { kind: 'lines', lines: 3, picks: 'resources', writing: 'ltr' },
        list: (uris: string[]) => uris.join(' '),
      },
    ),
    remembered: member(
      'Whether a user who has allowed the same object before is not asked again.',
      z.boolean(rule('boolean')),
      { start: false, trust: true, form: 'check' },
    ),
    removable: member('Whether the user may take single objects out and allow the rest.', z.boolean(rule('boolean')), {
      start: false,
      form: 'check',
    }),
    without_user: member(
      'Whether clients that are registered for it get it for themselves, by the grant type client_credentials.',
      z.boolean(rule('boolean')),
      { start: false, trust: true, form: 'check' },
    ),
    required_acr: member('The level of authentication (acr) that users must reach before they can allow it.', acr, {
      form: { kind: 'text', writing: 'ltr' },
    }),
    status: member('Whether it can be requested.', z.enum(['enabled', 'disabled']), {
      start: 'enabled',
      form: { kind: 'radio', choices: ['enabled', 'disabled'] },
      list: 'tag',
    }),
  },
});

export type AuthorizationDetailsType = EntityOf<typeof authorizationDetailsTypes>;
