// Declares groups of users. Renames, merges and memberships are written out in src/domain/administration/groups.ts.
import { z } from 'zod';
import { rule } from '../oauth/refusals.ts';
import { groupName, isStorable } from '../rules/users/administration.ts';
import {
  type ChangeOf,
  changeShape,
  column,
  entity,
  type EntityOf,
  type Input,
  member,
  membersOf,
  type MembersOf,
  newShape,
} from './entity.ts';
import { lines, words } from './field.ts';

export const groups = entity({
  table: 'groups',
  one: 'group',
  permission: 'groups',
  section: 'groups',
  key: 'name',
  called: 'name',
  members: {
    name: member('', groupName, { required: true, form: { kind: 'text', writing: 'auto' }, answer: z.string() }),
    description: member(
      'The purpose of the group.',
      z.string().trim().max(1000, rule('too-long')).refine(isStorable, rule('text')),
      { start: '', form: { kind: 'text', writing: 'auto' }, answer: z.string() },
    ),
    guarded_sources: member(
      'The connections that may change the members of the group although it is guarded.',
      // a connection, or a SCIM source after scim:
      z.array(z.string().regex(/^(?:scim:)?[a-z][a-z0-9-]{1,39}$/)).max(50),
      {
        start: [],
        trust: true,
        option: 'guarded-source',
        when: ({ guarded }: Input) => guarded === true,
        form: { kind: 'lines', writing: 'ltr', typing: { ...words, write: lines.write } },
        answer: z.array(z.string()).optional().describe('The connections that may change its members nevertheless.'),
      },
    ),
  },
  row: { members: column<number>(z.int()) },
});

export type Group = EntityOf<typeof groups>;
/** The members that an administrator sets. */
export type GroupMembers = MembersOf<typeof groups>;
export type GroupChange = ChangeOf<typeof groups.members>;

/** A new group is not guarded yet, so that it has no sources either. */
export const newGroupShape = newShape(groups).omit({ guarded_sources: true });
export const groupChangeShape = changeShape(groups);
/** The options of the command that changes a group; another one renames it. */
export const groupOptions: Record<string, string> = Object.fromEntries(
  membersOf(groups).flatMap(([name, { option = name }]) => (name === groups.key ? [] : [[option, name]])),
);
