// Serves the console's pages about one kind of definitions: the list, and the forms that create, change and delete one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../../oauth/refusals.ts';
import type { Administrator } from '../operations/operation.ts';
import { singleValued } from '../../server/parameters.ts';
import type {
  ConsoleDefinitionsPages,
  DefinitionField,
  DefinitionKind,
} from '../../pages/views/console-definitions.ts';
import type { ConsoleSection } from '../../pages/views/console.ts';
import type { AdminSession, Console } from './admin-session.ts';
import { refusedView } from './refused.ts';
import { isTypedName } from './typed-name.ts';

type Row = Omit<ConsoleDefinitionsPages['console-definitions']['rows'][number], 'uri'>;
type Typed = Readonly<Record<string, string>>;
type Outcome = { done: unknown } | { refused: Refusal };

/** One kind of definitions. */
export interface Definitions<T extends { name: string }> {
  kind: DefinitionKind;
  section: ConsoleSection;
  /** The list's address; a definition's follows it. */
  path: string;
  list(): Promise<T[]>;
  row(one: T): Row;
  /** The fields of the form. @param one the definition that it changes @param typed what a refused form shows again */
  fields(one: T | undefined, typed?: Typed): DefinitionField[];
  create(by: Administrator, typed: Typed): Promise<Outcome>;
  change(by: Administrator, one: T, typed: Typed): Promise<Outcome>;
  remove(by: Administrator, one: T): Promise<Outcome>;
  /** @throws OAuthError not_found */
  find(name: string): Promise<T>;
}

export function definitionPages<T extends { name: string }>(
  app: FastifyInstance,
  console: Console,
  of: Definitions<T>,
): void {
  const { kind, section, path } = of;
  const newPath = `${path}/new`;
  const pathOf = (name: string) => `${path}/${encodeURIComponent(name)}`;
  const nameOf = (params: unknown) => (params as { name: string }).name;

  const submitted = (request: FastifyRequest, reply: FastifyReply, action: string) => {
    const body = singleValued(request.body);
    return console.submitted(request, reply, { csrf: body['csrf'], action, back: action, fresh: true });
  };

  function show(admin: AdminSession, one: T | undefined, typed?: Typed, refusal?: Refusal): FastifyReply {
    const action = one ? pathOf(one.name) : newPath;
    const fields = of.fields(one, typed);
    const names = fields.filter(({ fixed }) => !fixed).map(({ name }) => name);
    const data = {
      ...{ kind, listUri: path, fields, form: admin.form(action) },
      ...(one && { name: one.name, deleteUri: `${action}/delete` }),
      ...(refusal && { refused: refusedView(refusal, names) }),
    };
    return admin.send('console-definition-form', data, { section, status: refusal ? 400 : 200 });
  }

  const showDeletion = (admin: AdminSession, { name }: T, typed?: string) =>
    admin.send(
      'console-definition-delete',
      {
        ...{ kind, name, listUri: path, uri: pathOf(name), form: admin.form(`${pathOf(name)}/delete`) },
        ...(typed !== undefined && { typed: typed.slice(0, 255), problem: 'typed' as const }),
      },
      { section, status: typed === undefined ? 200 : 400 },
    );

  console.page(app, path, async (admin) => {
    const rows = (await of.list()).map((one) => ({ ...of.row(one), uri: pathOf(one.name) }));
    return admin.send('console-definitions', { kind, rows, newUri: newPath }, { section });
  });
  console.page(app, newPath, (admin) => show(admin, undefined));
  app.post(newPath, async (request, reply) => {
    const admin = await submitted(request, reply, newPath);
    if (!admin) return reply;
    const typed = singleValued(request.body);
    const made = await of.create(admin.by, typed);
    return 'refused' in made ? show(admin, undefined, typed, made.refused) : admin.done(path, 'definition-saved');
  });
  console.page(app, `${path}/:name`, async (admin, request) => show(admin, await of.find(nameOf(request.params))));
  app.post(`${path}/:name`, async (request, reply) => {
    const one = await of.find(nameOf(request.params));
    const admin = await submitted(request, reply, pathOf(one.name));
    if (!admin) return reply;
    const typed = singleValued(request.body);
    const changed = await of.change(admin.by, one, typed);
    return 'refused' in changed ? show(admin, one, typed, changed.refused) : admin.done(path, 'definition-saved');
  });
  console.page(app, `${path}/:name/delete`, async (admin, request) =>
    showDeletion(admin, await of.find(nameOf(request.params))),
  );
  app.post(`${path}/:name/delete`, async (request, reply) => {
    const one = await of.find(nameOf(request.params));
    const admin = await submitted(request, reply, `${pathOf(one.name)}/delete`);
    if (!admin) return reply;
    const { typed = '' } = singleValued(request.body);
    if (!isTypedName(typed, one.name)) return showDeletion(admin, one, typed);
    const removed = await of.remove(admin.by, one);
    return 'refused' in removed ? show(admin, one, undefined, removed.refused) : admin.done(path, 'definition-deleted');
  });
}

/** The texts by language of a field with a line for each: text alone is English, [de] before it names another language. */
export function labelsIn(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const [, language = 'en', label = ''] = /^\s*(?:\[([^\]]*)\]\s*)?(.*?)\s*$/.exec(line) ?? [];
    if (label !== '') labels[language] = label;
  }
  return labels;
}

export const labelLines = (labels: Record<string, string>): string =>
  Object.entries(labels)
    .map(([language, label]) => (language === 'en' ? label : `[${language}] ${label}`))
    .join('\n');

/** The entries of a field with one on each line. */
export const linesIn = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);
