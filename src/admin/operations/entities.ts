// Declares the operations that every entity has, with their commands: list, create, show, change and delete.
import { z } from 'zod';
import type { entityAdministration } from '../../domain/administration/entities.ts';
import { pageOf, pageShape, readCursor } from '../../domain/administration/paging.ts';
import { bodyLimitsOf } from '../../entities/body-limits.ts';
import {
  changeShape,
  type Entity,
  type EntityOf,
  type Input,
  keyOf,
  membersOf,
  newShape,
  view,
} from '../../entities/entity.ts';
import { notFound } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import type { entityRepository } from '../../repositories/entities.ts';
import type { AnswerName } from './answers.ts';
import { operation, type OperationContext } from './operation.ts';
import { facts, table as textTable } from './text-table.ts';

type Act = 'list' | 'create' | 'show' | 'change' | 'delete';

/** The words of an entity, and where it is read and changed. */
export interface EntityOperations<E extends Entity> {
  /** The summaries, which are also the help of the commands. One that is not shown alone has no route for it. */
  says: Record<Exclude<Act, 'show'>, string> & { show?: string };
  /** What the argument of a command and the parameter of a path may be, and its characters. */
  named: string;
  most?: number;
  answers: { one: AnswerName; page: AnswerName };
  /** The columns of the command that lists. */
  columns: Record<string, (one: EntityOf<E>) => string>;
  /** What the commands print. */
  done: Record<'create' | 'change' | 'delete', (one: EntityOf<E>) => string>;
  repository(context: OperationContext): Pick<ReturnType<typeof entityRepository<E>>, 'find' | 'list'>;
  administration(context: OperationContext): ReturnType<typeof entityAdministration<E>>;
  /** Computes further members of the answer. */
  answer?(one: EntityOf<E>): Record<string, unknown>;
  /** Refuses a new one for what only the service knows. @throws OAuthError */
  before?(context: OperationContext, input: Input): void;
  /** Completes the values that a command was given. */
  prepare?(given: Input): Input;
  /** How commands take members if not as their rule suggests. */
  forms?: Readonly<Record<string, 'json' | 'json-file' | 'text-file'>>;
}

export function entityOperations<E extends Entity>(of: E, how: EntityOperations<E>) {
  type One = EntityOf<E>;
  const { table, one: noun, within } = of;
  const command = noun.replaceAll('_', '-');
  const tag = within ? `${noun}s` : table;
  const shared = { of, permission: of.permission, tag, ...bodyLimitsOf(of.members) };
  const isPaged = of.key === undefined;
  const path = `/admin/api/${within ? `${within.table}/:${within.param}/` : ''}${tag.replaceAll('_', '-')}`;
  const owner = within && z.object({ [within.param]: text(255).describe(within.named) });
  const params = z.object({ ...owner?.shape, [noun]: text(how.most ?? 2000).describe(how.named) });
  const nameIn = (given: Record<string, unknown>) => String(given[noun]);
  const ownersIn = (given: Record<string, unknown>) => (within ? [String(given[within.param])] : []);
  const shown = (one: One) => ({ ...view(of, one), ...how.answer?.(one) });
  const [first] = Object.keys(of.members) as [string];
  const optionsOf = (isNew: boolean) =>
    Object.fromEntries([
      ...membersOf(of)
        .filter(([name, { fixed }]) => name !== first && (isNew || !fixed))
        .map(([name, { option = name.replaceAll('_', '-') }]) => [option, name]),
      ...(of.versioned && !isNew ? [['version', 'version']] : []),
    ]) as Record<string, string>;
  const prepare = { ...(how.prepare && { prepare: how.prepare }), ...(how.forms && { forms: how.forms }) };

  async function find(context: OperationContext, name: string, ...owners: string[]): Promise<One> {
    const found = name.includes('\0') ? undefined : await how.repository(context).find(name, ...owners);
    if (!found) throw notFound(`there is no such ${noun}`);
    return found;
  }

  const list = operation({
    ...shared,
    method: 'GET',
    path,
    summary: how.says.list,
    ...(owner && { params: owner }),
    ...(isPaged && { input: () => pageShape }),
    answer: how.answers.page,
    async handler(context, { params: given, input: { limit, cursor } }) {
      const page = isPaged ? { limit, after: readCursor(cursor) } : undefined;
      const all = await how.repository(context).list(page, ...ownersIn(given));
      return { limit, all };
    },
    view: ({ limit, all }) =>
      isPaged
        ? pageOf(tag, all, limit, shown, (one) => ({ at: one.createdAt, id: keyOf(of, one) }))
        : { [tag]: all.map(shown) },
    command: {
      name: `${command} list`,
      text: ({ all }) =>
        textTable(
          Object.keys(how.columns),
          all.map((one) => Object.values(how.columns).map((cell) => cell(one))),
        ),
      json: ({ all }) => all.map(shown),
    },
  });
  const create = operation({
    ...shared,
    method: 'POST',
    path,
    summary: how.says.create,
    ...(owner && { params: owner }),
    input: () => newShape(of),
    status: 201,
    answer: how.answers.one,
    async handler(context, { params: given, input, actor }) {
      how.before?.(context, input);
      return how.administration(context).create(actor, input, ...ownersIn(given));
    },
    view: shown,
    command: {
      name: `${command} create`,
      arguments: [first],
      options: optionsOf(true),
      ...prepare,
      text: how.done.create,
    },
  });
  const show = operation({
    ...shared,
    method: 'GET',
    path: `${path}/:${noun}`,
    summary: how.says.show ?? '',
    params,
    answer: how.answers.one,
    handler: (context, call) => find(context, nameIn(call.params), ...ownersIn(call.params)),
    view: shown,
    command: { name: `${command} show`, text: (one) => facts(shown(one)) },
  });
  const change = operation({
    ...shared,
    method: 'PATCH',
    path: `${path}/:${noun}`,
    summary: how.says.change,
    params,
    input: () => changeShape(of),
    answer: how.answers.one,
    handler: (context, { actor, params: given, input }) =>
      how.administration(context).change(actor, nameIn(given), input, ...ownersIn(given)),
    view: shown,
    ...(how.says.show === undefined && {
      async shown(context: OperationContext, given: Record<string, unknown>) {
        const found = await how.repository(context).find(nameIn(given), ...ownersIn(given));
        return found && shown(found);
      },
    }),
    command: { name: `${command} change`, options: optionsOf(false), ...prepare, text: how.done.change },
  });
  const remove = operation({
    ...shared,
    method: 'DELETE',
    path: `${path}/:${noun}`,
    summary: how.says.delete,
    params,
    handler: (context, { actor, params: given }) =>
      how.administration(context).remove(actor, nameIn(given), ...ownersIn(given)),
    command: { name: `${command} delete`, text: how.done.delete, json: (one) => ({ [noun]: shown(one)[first] }) },
  });
  const all = [list, create, ...(how.says.show === undefined ? [] : [show]), change, remove];
  return { find, list, create, show, change, remove, all };
}
