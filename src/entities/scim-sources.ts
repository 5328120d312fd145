// Declares SCIM sources: directories that write their users and groups here (RFC 7643, RFC 7644, federation 8).
import { z } from 'zod';
import { rule } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';
import { isStorable } from '../rules/users/administration.ts';
import { entity, type EntityOf, type Input, member, type MembersOf } from './entity.ts';

const prefix = z
  .string(rule('string'))
  .max(100, rule('too-long', { most: '100' }))
  .refine((value) => isStorable(value) && !/\p{Cc}/u.test(value), rule('control-characters'));

export const scimSources = entity({
  table: 'scim_sources',
  one: 'scim_source',
  permission: 'scim_sources',
  section: 'scim_sources',
  key: 'id',
  called: 'name',
  sorted: 'id LIMIT 1000',
  versioned: true,
  order: ['name', 'id', 'status', 'connection_id', 'adopt', 'on_delete', 'group_prefix'],
  members: {
    id: member(
      'Part of its address, /scim/v2/ID; it never changes.',
      z.string(rule('string')).regex(/^[a-z][a-z0-9-]{1,39}$/, rule('source-id')),
      {
        required: true,
        fixed: true,
        when: ({ id }: Input) => id === undefined,
        form: { kind: 'text', most: 40 },
        list: true,
      },
    ),
    name: member('What administrators call it.', text(100).min(1, rule('empty')), {
      required: true,
      form: { kind: 'text', most: 100, writing: 'auto' },
      list: true,
    }),
    status: member('Whether its requests are answered.', z.enum(['enabled', 'disabled']), {
      start: 'enabled',
      form: { kind: 'radio', choices: ['enabled', 'disabled'] },
      list: 'tag',
    }),
    connection_id: member(
      'The connection by which its users sign in: each user is linked to the identity that the source calls externalId. Its domains decide which addresses are confirmed.',
      z.string().max(40),
      {
        refers: 'connections',
        trust: true,
        option: 'connection',
        form: { kind: 'text', most: 40, picks: 'connections' },
      },
    ),
    adopt: member(
      'Whether it takes over existing users: with domain, those whose confirmed address is in a domain over which the connection has authority. Administrators and members of guarded groups are never taken over.',
      z.enum(['none', 'domain']),
      { start: 'none', trust: true, form: { kind: 'radio', choices: ['none', 'domain'] } },
    ),
    on_delete: member(
      'What happens to a user whom it deletes: disable keeps the disabled account for 30 days, in which the source can bring the user back; delete deletes it at once. An adopted user is always disabled and kept.',
      z.enum(['disable', 'delete']),
      { start: 'disable', form: { kind: 'radio', choices: ['disable', 'delete'] } },
    ),
    group_prefix: member('Text before the names of its groups, so that they cannot be mistaken for others.', prefix, {
      start: '',
      form: { kind: 'text', most: 100, writing: 'auto' },
    }),
  },
});

export type ScimSource = EntityOf<typeof scimSources>;
export type ScimSourceMembers = MembersOf<typeof scimSources>;
