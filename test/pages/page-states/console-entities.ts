// Lists states of the console's pages about entities: the form of each entity, each refusal for which it has words, the lists, the deletions.
import { fieldsOf, namesOf, typedOf } from '../../../src/admin/console/form.ts';
import { formOf, starts, view } from '../../../src/entities/entity.ts';
import { resources } from '../../../src/entities/resources.ts';
import { namesItsSubject } from '../../../src/oauth/refusals.ts';
import { examples } from '../../../templates/examples/index.ts';
import { ownRefusals, type View } from './state.ts';

const [list] = examples['console-entities'];
const [form] = examples['console-entity-form'];
const [deletion] = examples['console-entity-delete'];

export const consoleEntitiesStates: View[] = [resources].flatMap((entity): View[] => {
  const { table: nouns, one: noun, section } = entity;
  const of = { nouns, noun, section, listUri: `/admin/${nouns}` };
  const values = view(entity, starts(entity));
  const members = formOf(entity);
  const data = { ...form, ...of, fields: fieldsOf(members, typedOf(members, values)) };
  const changed = formOf(entity, values);
  return [
    { name: 'console-entities', data: { ...list, ...of, done: `${noun}-deleted` } },
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
  ];
});
