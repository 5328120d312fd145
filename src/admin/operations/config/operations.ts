// Declares the operations by which a request plans a configuration file, and applies such a plan (federation 10).
import { z } from 'zod';
import { invalidRequest } from '../../../oauth/errors.ts';
import { maxDepth, maxValues } from '../../../rules/files/yaml-text.ts';
import { operation, type UploadedFile } from '../operation.ts';
import { applyConfig } from './apply.ts';
import { apiVersion } from './config-file.ts';
import { makePlan, readPlan } from './plan.ts';
import { refuseSecrets } from './secret-sources.ts';
import { takeOver } from './take-over.ts';

const section = { permission: 'settings', tag: 'config' } as const;
const path = '/admin/api/config';
const flag = z.enum(['true', 'false']).optional();
/** Bytes: a file twice, as text and as changes. */
const maxPlan = 8 * 1024 * 1024;
/** A value is five levels below its plan, and three below its file. A value of a file is a member of the plan, with one for what is new. */
const json = { depth: 5 + maxDepth - 3, members: 2 * maxValues };
/** Milliseconds for the largest plan: an answer before its end could not say whether it was applied. */
const timeout = 30 * 60_000;

/** @throws OAuthError invalid_request */
function textOf({ content }: UploadedFile): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw invalidRequest('the body is not UTF-8');
  }
}

const planFile = operation({
  ...section,
  method: 'POST',
  path: `${path}/plan`,
  summary: 'Plans a configuration file: shows the changes and their effects, and changes nothing',
  input: () =>
    z.object({
      prune: flag.describe('Deletes what this set of files made and no longer has.'),
      enable: flag.describe('Enables what an administrator disabled.'),
    }),
  media: { body: ['application/yaml'], answer: ['application/json'] },
  async handler(context, { input }) {
    const files = [{ name: 'the body', text: textOf((input as { file?: UploadedFile }).file!) }];
    const options = { prune: input.prune === 'true', enable: input.enable === 'true' };
    const plan = await makePlan(context, files, refuseSecrets, options);
    return { type: 'application/json', text: partsOf(JSON.stringify(plan)) };
  },
});

async function* partsOf(text: string): AsyncGenerator<string> {
  yield text;
}

const applyPlan = operation({
  ...section,
  method: 'POST',
  path: `${path}/apply`,
  summary:
    'Applies a plan in one transaction or not at all; if an object of the plan has changed since, the answer is 409',
  input: () =>
    z.strictObject({
      apiVersion: z.literal(apiVersion),
      name: z.string(),
      prune: z.boolean(),
      enable: z.boolean(),
      changes: z.array(z.looseObject({})).describe('The changes, as the plan has them.'),
      notes: z.array(z.string()),
      files: z.array(z.strictObject({ name: z.string(), text: z.string() })).describe('The texts that were planned.'),
    }),
  bodyLimit: maxPlan,
  timeout,
  json,
  answer: 'AppliedConfig',
  async handler(context, { input, actor: { actor } }) {
    const { files: texts, prune, enable, changes: expected } = readPlan(input);
    return applyConfig(context, { texts, read: refuseSecrets, prune, enable, expected, actor, makesSecrets: false });
  },
  view: ({ name, changes, warnings }) => ({ name, changes, warnings }),
});

export const configOperations = [planFile, applyPlan, takeOver];
