// Makes the JSON Schema of configuration files from the declarations, for editors and for programs that write such files.
import { z } from 'zod';
import type { Input } from '../../../entities/entity.ts';
import { entryShape, secretsOf, without } from '../../../entities/file.ts';
import { apiVersion } from './config-file.ts';
import type { FileNoun } from './noun.ts';
import { fileNouns } from './nouns.ts';

const secret = {
  oneOf: [
    { const: 'generate' },
    {
      type: 'object',
      properties: { env: { type: 'string', pattern: '^[A-Z_][A-Z0-9_]*$' } },
      required: ['env'],
      additionalProperties: false,
    },
    { type: 'object', properties: { file: { type: 'string' } }, required: ['file'], additionalProperties: false },
  ],
};

function entrySchema({ of, key }: FileNoun): Input {
  const whole = z.toJSONSchema(entryShape(of, key), { io: 'input', unrepresentable: 'any' }) as Input;
  const schema = without(whole, '$schema');
  const properties = { ...(schema['properties'] as Record<string, Input>) };
  for (const name of secretsOf(of)) properties[name] = { description: of.members[name]!.says, ...secret };
  for (const [name, { start }] of Object.entries(of.members))
    if (properties[name] && start !== undefined && !of.members[name]!.convert)
      properties[name] = { ...properties[name], default: start };
  // an entry whose members all have their defaults is empty
  return schema['required'] === undefined
    ? { ...schema, type: ['object', 'null'], properties }
    : { ...schema, properties };
}

export const configSchema = (): Input => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Configuration of Gatehouse',
  type: 'object',
  additionalProperties: false,
  required: ['apiVersion'],
  properties: {
    apiVersion: { const: apiVersion },
    name: {
      description: 'The name of the set of files.',
      type: 'string',
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
    },
    adopt: {
      description: 'Whether the set takes over objects that it did not create.',
      type: 'boolean',
      default: false,
    },
    ...Object.fromEntries(
      fileNouns().map((noun) => [
        noun.section,
        noun.isSingle
          ? entrySchema(noun)
          : {
              description: `Each by its ${noun.key}.`,
              type: ['object', 'null'],
              additionalProperties: entrySchema(noun),
            },
      ]),
    ),
  },
});
