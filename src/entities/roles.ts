// Declares the roles of a client, which groups and users have (federation 7).
import { z } from 'zod';
import { isNoFolder } from '../oauth/display-text.ts';
import { rule } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';
import { column, entity, type EntityOf, member } from './entity.ts';

/** The most roles of a client. */
export const maxRoles = 200;

const holders = 'FROM client_role_holders h WHERE h.client_id = client_roles.client_id AND h.role = client_roles.name';

export const roles = entity({
  table: 'client_roles',
  one: 'role',
  permission: 'clients',
  within: { table: 'clients', param: 'id', named: 'The client_id.', column: 'client_id' },
  key: 'name',
  most: maxRoles,
  members: {
    // commas separate roles in some tables and claims
    name: member(
      '',
      z
        .string(rule('string'))
        .trim()
        .refine(
          (name) => name !== '' && [...name].length <= 100 && name.isWellFormed() && !/[\p{Cc},]/u.test(name),
          rule('role-name'),
        )
        .refine(isNoFolder, rule('dots')),
      { required: true, fixed: true },
    ),
    description: member('What the role allows.', text(1000), { start: '' }),
  },
  row: {
    groups: column<string[]>(
      z.array(z.string()).describe('The groups whose members have the role.'),
      `ARRAY(SELECT h.group_name ${holders} AND h.group_name IS NOT NULL ORDER BY 1)`,
    ),
    users: column<number>(
      z.int().describe('How many users have it by themselves.'),
      `(SELECT count(*)::int ${holders} AND h.sub IS NOT NULL)`,
    ),
  },
});

export type ClientRole = EntityOf<typeof roles>;
