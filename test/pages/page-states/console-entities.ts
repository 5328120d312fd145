// Lists states of the console's pages about entities: the form of each entity, each refusal for which it has words, the lists, the deletions.
import { entityPlugins } from '../../../src/admin/admin.ts';
import { fieldsOf, namesOf, typedOf } from '../../../src/admin/console/form.ts';
import { type Entity, membersOf, starts, view } from '../../../src/entities/entity.ts';
import { formOf } from '../../../src/entities/form.ts';
import { signUpLinkStates as signUpLinkStatesOf } from '../../../src/entities/sign-up-links.ts';
import { namesItsSubject } from '../../../src/oauth/refusals.ts';
import type { Cell } from '../../../src/pages/views/console-entities.ts';
import { examples } from '../../../templates/examples/index.ts';
import { ownRefusals, type View } from './state.ts';

const [list] = examples['console-entities'];
const [form] = examples['console-entity-form'];
const [deletion] = examples['console-entity-delete'];
const [takeOver] = examples['console-take-over'];

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

const keptStates: View[] = [
  { name: 'console-take-over', data: { ...takeOver, done: 'kept-by-files' } },
  {
    name: 'console-entity-form',
    data: { ...form, kept: { files: 'x', uri: '/admin/take-over' }, done: 'taken-over' },
  },
];

const ofEntities: View[] = entityPlugins.flatMap(({ of: entity, showsMade }): View[] => {
  const { table: nouns, one: noun, section } = entity;
  const of = { nouns, noun, section, listUri: `/admin/${nouns}` };
  const values = view(entity, starts(entity));
  const members = formOf(entity);
  const data = { ...form, ...of, fields: fieldsOf(members, typedOf(members, values)) };
  const changed = formOf(entity, values);
  return [
    ...[...(showsMade ? [] : ['made']), 'changed', 'deleted'].map((done): View => ({
      name: 'console-entities',
      data: { ...list, ...of, done: `${noun.replaceAll('_', '-')}-${done}` },
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

/** The cells that the list of sign-up links adds. */
const signUpLinkStates: View[] = signUpLinkStatesOf.map((state) => ({
  name: 'console-entities',
  data: {
    ...list,
    nouns: 'sign_up_links',
    noun: 'sign_up_link',
    section: 'users',
    listUri: '/admin/sign-up-links',
    rows: [
      {
        uri: '/admin/sign-up-links/5f2c',
        cells: [
          { member: 'name', text: 'x' },
          { member: 'groups', text: 'crew', ltr: true },
          { member: 'used', text: '3 / 20', ltr: true },
          { member: 'expires_at', at: new Date('2026-03-14T09:26:53Z') },
          { member: 'state', tags: [`state.${state}`] },
        ],
      },
    ],
  },
}));

export const consoleEntitiesStates = [...ofEntities, ...keptStates, ...signUpLinkStates];
