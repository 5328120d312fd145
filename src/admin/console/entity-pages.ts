// Serves the console's pages about an entity, made from its declaration: the list, and the forms that create, change and delete one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bodyLimitOf } from '../../entities/body-limits.ts';
import { type Entity, type EntityOf, type Input, keyOf, starts, view } from '../../entities/entity.ts';
import { fieldOf, formOf, ruleListsOf } from '../../entities/form.ts';
import type { Refusal } from '../../oauth/refusals.ts';
import type { Cell } from '../../pages/views/console-entities.ts';
import type { FormView } from '../../pages/views/parts.ts';
import type { ConsoleSection } from '../../pages/views/console.ts';
import type { RuleListView } from '../../pages/views/console-rules.ts';
import { singleValued } from '../../server/parameters.ts';
import type { entityOperations } from '../operations/entities.ts';
import type { AdminSession, Console } from './admin-session.ts';
import { submittedForms } from './submitted-form.ts';
import { fieldsOf, inputOf, namesOf, type Typed, typedIn, typedOf } from './form.ts';
import { withKeys } from './picked.ts';
import { refusedView } from './refused.ts';
import { ruleLists, type RuleOwner, rulePages } from './rule-pages.ts';
import { isTypedName } from './typed-name.ts';

const pageSize = 50;

export interface EntityPagesDependencies {
  console: Console;
}

/** What the pages of an entity have beside its declaration. */
export interface EntityPages<One> {
  /** A page of its own for one; without it the form is at the address of one. @param more the addresses of the forms that change and delete it, and its lists of rules, if it has any */
  show?(
    admin: AdminSession,
    one: One,
    more: { editUri: string; deleteUri: string; rules?: RuleListView[] },
  ): Promise<FastifyReply>;
  /** Answers the form that created one, once for a double click; without it the answer leads to the page or the list. */
  made?(admin: AdminSession, one: One): FastifyReply;
  /** Lists that the list leads to, by the plural of their nouns. */
  related?: readonly string[];
  /** When each was last used, by its key; without it the list has no such column. */
  uses?(admin: AdminSession, keys: readonly string[]): Promise<ReadonlyMap<string, Date>>;
  /** What the deletion shows beside the name. */
  known?(one: One): string;
  /** Cells of the list after those of the members. @param shown one as the API shows it */
  cells?(shown: Input): Cell[];
}

type ShownEntity = Entity & { section: ConsoleSection; called: string };

/** Makes the plugin with the pages of an entity. @param operations those that the pages run */
export function entityPages<E extends ShownEntity>(
  of: E,
  operations: ReturnType<typeof entityOperations<E>>,
  own: EntityPages<EntityOf<E>> = {},
) {
  const pages = async (app: FastifyInstance, { console }: EntityPagesDependencies): Promise<void> => {
    type One = EntityOf<E>;
    const { section, table: nouns, one: noun, called } = of;
    const listUri = `/admin/${nouns.replaceAll('_', '-')}`;
    const told = noun.replaceAll('_', '-');
    const newUri = `${listUri}/new`;
    const anyOne = `${listUri}/:${noun}`;
    const frame = { nouns, noun, listUri };
    const shown = (one: One) => view(of, one);
    const nameOf = (one: One) => String(shown(one)[called]);
    const uriOf = (one: object) => `${listUri}/${encodeURIComponent(keyOf(of, one))}`;
    const editPath = (one: One) => `${uriOf(one)}${own.show ? '/edit' : ''}`;
    const keyIn = (request: FastifyRequest) => (request.params as Record<string, string>)[noun]!;
    const find = (admin: AdminSession, request: FastifyRequest) =>
      admin.run(operations.show, { [noun]: keyIn(request) });
    /** The address to which a form of one posts. */
    const hereOf = (request: FastifyRequest, end: string) => `${listUri}/${encodeURIComponent(keyIn(request))}${end}`;
    const paramsOf = (one: One) => ({ [noun]: keyOf(of, one) });

    const lists = ruleListsOf(of.members);
    const bytes = bodyLimitOf(of.members);
    const large = bytes === undefined ? {} : { bodyLimit: bytes };
    const ownerOf = (one: One): RuleOwner => ({
      path: uriOf(one),
      name: nameOf(one),
      trail: [
        { uri: listUri, words: `console.${nouns}.title` },
        { uri: uriOf(one), name: nameOf(one) },
      ],
      words: `console.${noun}`,
      values: shown(one),
      lists,
    });
    const rulesOf = (admin: AdminSession, one: One) =>
      Object.keys(lists).length > 0 && { rules: ruleLists(admin, ownerOf(one)) };

    const submitted = submittedForms(console);

    /** A form that changes a version carries it, so that it changes no newer one. */
    function formFor(admin: AdminSession, action: string, { version }: Input): FormView {
      const form = admin.form(action);
      return of.versioned ? { ...form, hidden: { ...form.hidden, version: String(version) } } : form;
    }

    async function showForm(admin: AdminSession, one?: One, typed?: Typed, refusal?: Refusal): Promise<FastifyReply> {
      const values = one ? shown(one) : view(of, starts(of));
      const form = formOf(of, one && values);
      const data = {
        ...frame,
        fields: fieldsOf(form, { ...typedOf(form, values), ...typed }),
        form: formFor(admin, one ? editPath(one) : newUri, values),
        ...(one && { of: { name: nameOf(one), uri: own.show ? uriOf(one) : listUri } }),
        ...(one && !own.show && { deleteUri: `${uriOf(one)}/delete`, ...rulesOf(admin, one) }),
        ...(refusal && { refused: refusedView(refusal, namesOf(form)) }),
      };
      return admin.send('console-entity-form', data, { section, status: refusal ? 400 : 200 });
    }

    const showDeletion = (admin: AdminSession, one: One, typed?: string, refusal?: Refusal) =>
      admin.send(
        'console-entity-delete',
        {
          ...frame,
          name: nameOf(one),
          uri: uriOf(one),
          form: admin.form(`${uriOf(one)}/delete`),
          ...(own.known && { known: own.known(one) }),
          ...(typed !== undefined && { typed: typed.slice(0, 255), problem: 'typed' as const }),
          ...(refusal && { refused: refusedView(refusal, []) }),
        },
        { section, status: typed === undefined && !refusal ? 200 : 400 },
      );

    const showList = async (admin: AdminSession, request: FastifyRequest) => {
      const { cursor } = singleValued(request.query);
      const input = { limit: pageSize, cursor };
      const page = operations.list.view(await admin.run(operations.list, {}, input)) as Input;
      const next = page['next_cursor'];
      const listed = page[nouns] as Input[];
      const uses = await own.uses?.(
        admin,
        listed.map((one) => keyOf(of, one)),
      );
      return admin.send(
        'console-entities',
        {
          ...frame,
          newUri,
          byKey: of.key !== undefined,
          related: (own.related ?? []).map((other) => ({ nouns: other, uri: `/admin/${other.replaceAll('_', '-')}` })),
          showsUse: uses !== undefined,
          rows: listed.map((one) => {
            const usedAt = uses?.get(keyOf(of, one));
            return {
              uri: uriOf(one),
              cells: [...cellsOf(of, one), ...(own.cells?.(one) ?? [])],
              ...(usedAt && { usedAt }),
            };
          }),
          ...(cursor && { first: listUri }),
          ...(typeof next === 'string' && { next: `${listUri}?${new URLSearchParams({ cursor: next })}` }),
        },
        { section },
      );
    };
    console.page(app, listUri, showList, { needs: operations.list });
    console.page(app, newUri, (admin) => showForm(admin), { needs: operations.create });
    app.post(newUri, large, async (request, reply) => {
      const sent = await submitted(request, reply, newUri, operations.create);
      if (!sent) return reply;
      const { admin, body } = sent;
      const form = formOf(of);
      const typed = await withKeys(admin, form, typedIn(form, body));
      const create = () => admin.perform(operations.create, {}, inputOf(form, typed));
      const refused = (refusal: Refusal) => showForm(admin, undefined, typed, refusal);
      if (own.made) {
        const shown = await admin.once(async () => {
          const made = await create();
          return 'refused' in made ? { refused: () => refused(made.refused) } : made;
        });
        return 'refused' in shown ? shown.refused() : own.made(admin, shown.done);
      }
      const made = await create();
      if ('refused' in made) return refused(made.refused);
      return admin.done(own.show ? uriOf(made.done) : listUri, `${told}-made`);
    });

    const { show } = own;
    if (show)
      console.page(
        app,
        anyOne,
        async (admin, request) => {
          const one = await find(admin, request);
          return show(admin, one, {
            editUri: editPath(one),
            deleteUri: `${uriOf(one)}/delete`,
            ...rulesOf(admin, one),
          });
        },
        { needs: operations.show },
      );
    if (Object.keys(lists).length > 0)
      rulePages<One>(app, console, {
        path: anyOne,
        section,
        needs: operations.change,
        find,
        ownerOf,
        change: (admin, one, members) =>
          admin.perform(operations.change, paramsOf(one), {
            ...members,
            ...(of.versioned && { version: shown(one)['version'] }),
          }),
      });
    const edit = `${anyOne}${show ? '/edit' : ''}`;
    console.page(app, edit, async (admin, request) => showForm(admin, await find(admin, request)), {
      needs: operations.change,
    });
    app.post(edit, large, async (request, reply) => {
      const sent = await submitted(request, reply, hereOf(request, show ? '/edit' : ''), operations.change);
      if (!sent) return reply;
      const { admin, body } = sent;
      const one = await find(admin, request);
      const form = formOf(of, shown(one));
      const typed = await withKeys(admin, form, typedIn(form, body));
      const input = { ...inputOf(form, typed), ...(of.versioned && { version: Number(body['version']) }) };
      const changed = await admin.perform(operations.change, paramsOf(one), input);
      if ('refused' in changed) return showForm(admin, one, typed, changed.refused);
      return admin.done(show ? uriOf(one) : listUri, `${told}-changed`);
    });

    console.page(app, `${anyOne}/delete`, async (admin, request) => showDeletion(admin, await find(admin, request)), {
      needs: operations.remove,
    });
    app.post(`${anyOne}/delete`, async (request, reply) => {
      const sent = await submitted(request, reply, hereOf(request, '/delete'), operations.remove);
      if (!sent) return reply;
      const { admin, body } = sent;
      const one = await find(admin, request);
      if (!isTypedName(body['typed'], nameOf(one))) return showDeletion(admin, one, body['typed'] ?? '');
      const removed = await admin.perform(operations.remove, paramsOf(one));
      if ('refused' in removed) return showDeletion(admin, one, undefined, removed.refused);
      return admin.done(listUri, `${told}-deleted`);
    });
  };
  const about = { of: of as ShownEntity, hasPage: own.show !== undefined, showsMade: own.made !== undefined };
  return Object.assign(pages, about);
}

/** A row of the list: a cell for each column, and one for all properties. */
function cellsOf({ members, order = Object.keys(members) }: Entity, one: Input): Cell[] {
  const cells: Cell[] = [];
  const tags: string[] = [];
  for (const [name, declared] of order.map((each) => [each, members[each]!] as const)) {
    const { list, start } = declared;
    const value = one[name];
    if (list === 'tag') {
      if (Array.isArray(value)) tags.push(...value.map(String));
      else if (value === true) tags.push(`${name}.tag`);
      else if (value !== start && typeof value === 'string') tags.push(`${name}.choice.${value}`);
    } else if (typeof list === 'function') cells.push({ member: name, text: list(value as never), ltr: true });
    else if (list && typeof value === 'object') cells.push({ member: name, texts: value as Record<string, string> });
    else if (list) cells.push({ member: name, text: String(value ?? ''), ltr: fieldOf(declared)?.writing !== 'auto' });
  }
  const hasTags = Object.values(members).some(({ list }) => list === 'tag');
  return hasTags ? [...cells, { member: 'properties', tags }] : cells;
}
