// Plants an administrative operation: one value in the list becomes a route, an entry of the OpenAPI document, a command with help, and errors of a form.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { perform } from '../../src/admin/perform.ts';
import { findGroup } from '../../src/admin/operations/groups.ts';
import { operations } from '../../src/admin/operations/index.ts';
import { operation, type OperationContext } from '../../src/admin/operations/operation.ts';
import { loadConfig } from '../../src/config.ts';
import { groupView } from '../../src/domain/administration/administrator-views.ts';
import { conflict } from '../../src/oauth/errors.ts';
import { refusal } from '../../src/oauth/refusals.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const greetGroup = operation({
  permission: 'groups',
  method: 'POST',
  path: '/admin/api/groups/:name/greeting',
  tag: 'greetings',
  summary: 'Greets a group',
  params: z.object({ name: z.string() }),
  input: () =>
    z.strictObject({
      words: z.string().max(20, 'must have at most 20 characters').describe('What to say.'),
      tone: z.enum(['kind', 'formal']).optional(),
      loud: z.boolean().optional(),
    }),
  answer: 'Group',
  async handler({ store }, { params: { name }, input }) {
    if (input.words === 'anything') throw conflict(refusal('group.exists', 'words'));
    if (input.words === 'silence') throw conflict('nobody listens');
    return { group: await findGroup(store, name), input };
  },
  view: ({ group }) => groupView(group),
  command: {
    name: 'group greet',
    text: ({ group, input }) => `${input.words}, ${group.name}${input.loud ? '!' : '.'}`,
  },
});

let service: TestService;
let token: string;
beforeAll(async () => {
  operations.push(greetGroup);
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  await service.store.groups.insert({ name: 'crew' });
});
afterAll(async () => {
  // other test files share the list
  operations.splice(operations.indexOf(greetGroup), 1);
  await service?.stop();
});

const ada = { actor: 'ada', kind: 'administrator' };
const greet = (body: object, bearer: string | undefined = token) =>
  call(`${service.issuer}/admin/api/groups/crew/greeting`, { body, ...(bearer !== undefined && { token: bearer }) });

test('a planted operation is a route for administrators, which checks its input and names its refusals (architecture, extension points)', async () => {
  expect(await greet({ words: 'Ahoy' })).toMatchObject({ status: 200, body: { name: 'crew' } });
  expect(await greet({ words: 'Ahoy' }, '')).toMatchObject({ status: 401 });
  expect(await greet({ words: 'Ahoy', shout: true })).toMatchObject({ status: 400 });
  expect(await greet({ words: 'anything' })).toMatchObject({ status: 409, body: { error: 'conflict' } });
});

test('the OpenAPI document lists the planted operation (architecture, extension points)', async () => {
  const { body } = await call(`${service.issuer}/admin/api/openapi.json`, { token });
  const { post } = (body['paths'] as Record<string, Record<string, object>>)['/admin/api/groups/{name}/greeting']!;
  expect(post).toMatchObject({
    operationId: 'post_groups_name_greeting',
    summary: 'Greets a group',
    requestBody: { content: { 'application/json': { schema: { required: ['words'] } } } },
  });
});

test('the command line has the planted operation with options, help and JSON (architecture, extension points)', async () => {
  const run = (...args: string[]) => runCommand(service, ['group', 'greet', ...args]);
  expect((await run('--help')).stdout).toBe(
    'Usage: bin/gatehouse group greet NAME --words WORDS [--tone kind|formal] [--loud] [--json]\n\nGreets a group.\n\n' +
      '  --words WORDS\n      What to say.\n  --tone kind|formal\n  --loud\n  --json\n      Prints the result as JSON.\n',
  );
  expect(await run('crew', '--words', 'Ahoy', '--loud')).toEqual({ code: 0, stdout: 'Ahoy, crew!\n', stderr: '' });
  expect(JSON.parse((await run('crew', '--words', 'Ahoy', '--json')).stdout)).toMatchObject({ name: 'crew' });
  for (const [args, stderr] of [
    [['crew'], 'The option --words is missing.'],
    [['crew', '--words', 'Ahoy', '--tone', 'rude'], '--tone must be one of: kind, formal.'],
    [['crew', '--word', 'Ahoy'], 'Unknown option: --word. This command has --words, --loud, --tone.'],
    [['crew', '--words', 'anything'], 'A group with this name already exists.'],
  ] as const)
    expect(await run(...args)).toEqual({ code: 1, stdout: '', stderr: `${stderr}\n` });
});

test('a form of the console gets each refusal of the planted operation with its member and its code (architecture, extension points)', async () => {
  const context = { config: loadConfig({}), store: service.store } as OperationContext;
  const submit = (words: string) =>
    perform(greetGroup, context, { params: { name: 'crew' }, input: { words }, actor: ada });
  expect(await submit('a greeting that is much too long')).toMatchObject({
    refused: { member: 'words', code: 'invalid' },
  });
  expect(await submit('anything')).toEqual({ refused: refusal('group.exists', 'words') });
  await expect(submit('silence')).rejects.toThrow('nobody listens');
  expect(await submit('Ahoy')).toMatchObject({ done: { group: { name: 'crew' } } });
});
