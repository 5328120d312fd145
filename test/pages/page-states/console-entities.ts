// Lists states of the console's pages about entities: the form of each entity, each refusal for which it has words, the lists, the deletions.
import { entityPlugins } from '../../../src/admin/admin.ts';
import { fieldsOf, namesOf, typedOf } from '../../../src/admin/console/form.ts';
import { type Entity, membersOf, starts, view } from '../../../src/entities/entity.ts';
import { formOf } from '../../../src/entities/form.ts';
import { namesItsSubject } from '../../../src/oauth/refusals.ts';
import type { Cell } from '../../../src/pages/views/console-entities.ts';
import { examples } from '../../../templates/examples/index.ts';
import { ownRefusals, type View } from './state.ts';

const [list] = examples['console-entities'];
const [form] = examples['console-entity-form'];
const [deletion] = examples['console-entity-delete'];

const firstOf = ([first]: readonly { name: string }[]): string => first!.name;

/** The columns after the first, with each property that a row can have. */
function cellsOf(entity: Entity): Cell[] {
  const members = membersOf(entity);
  const tags = members
    .filter(([, { list: shown }]) => shown === 'tag')
    .flatMap(([name]) => {
      const { kind, choices = [] } = formOf(entity).find((one) => one.name === name)!;
      return kind === 'check' ? [`${name}.tag`] : choices.map((choice) => `${name}.choice.${choice}`);
    });
  return [
    ...members
      .filter(([name, { list: shown }]) => shown === true && name !== 'name')
      .map(([name]) => ({ member: name, texts: { en: 'x' } })),
    ...(members.some(([, { list: shown }]) => shown === 'tag')
      ? [{ member: 'properties', tags: [...tags, 'department'] }]
      : []),
  ];
}

export const consoleEntitiesStates: View[] = entityPlugins.flatMap(({ of: entity }): View[] => {
  const { table: nouns, one: noun, section } = entity;
  const of = { nouns, noun, section, listUri: `/admin/${nouns}` };
  const values = view(entity, starts(entity));
  const members = formOf(entity);
  const data = { ...form, ...of, fields: fieldsOf(members, typedOf(members, values)) };
  const changed = formOf(entity, values);
  return [
    ...['made', 'changed', 'deleted'].map((done): View => ({
      name: 'console-entities',
      data: { ...list, ...of, done: `${noun}-${done}` },
    })),
    { name: 'console-entities', data: { ...list, ...of, related: [{ nouns, uri: of.listUri }] } },
    // the cells of the column of properties: every choice of the members that have one, and their boxes
    {
      name: 'console-entities',
      data: {
        ...list,
        ...of,
        byKey: true,
        rows: [{ uri: of.listUri, cells: [{ member: firstOf(members), text: 'x', ltr: true }, ...cellsOf(entity)] }],
      },
    },
    { name: 'console-entity-form', data },
    {
      name: 'console-entity-form',
      data: { ...data, of: { name: 'x', uri: of.listUri }, fields: fieldsOf(changed, typedOf(changed, values)) },
    },
    ...ownRefusals(`console.${noun}`)
      .filter(({ field }) => namesOf(members).includes(field!))
      .map((refused): View => ({
        name: 'console-entity-form',
        data: { ...data, refused: { ...refused, whole: namesItsSubject(refused.code) } },
      })),
    { name: 'console-entity-delete', data: { ...deletion, ...of } },
    {
      name: 'console-entity-delete',
      data: {
        ...deletion,
        ...of,
        refused: { member: noun, code: 'entity.named', params: { name: 'x' }, whole: true },
      },
    },
  ];
});
