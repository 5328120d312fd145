// Declares provisioning targets: applications that get accounts for their users by SCIM (RFC 7643, RFC 7644, federation 8).
import { z } from 'zod';
import { rule } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';
import { chosenAttributes } from '../rules/provisioning/account.ts';
import { groupName } from '../rules/users/administration.ts';
import { column, entity, type EntityOf, type Input, member, type MembersOf } from './entity.ts';

/** Each has its own place among the requests that run at the same time, so that none holds up another. */
export const maxTargets = 32;
const maxGroups = 100;

export const targetStates = ['active', 'held', 'failing', 'disabled'] as const;
export type TargetState = (typeof targetStates)[number];

const count = z.int();
const counts = z.strictObject({
  active: count.describe('Accounts of users who may use the application.'),
  creating: count.describe('Accounts that are created or enabled next.'),
  leaving: count.describe('Accounts whose users may no longer use the application, and that end next.'),
  waiting: count.describe('Accounts that are compared with the user next.'),
  failing: count.describe('Accounts whose last request failed.'),
});
export type TargetCounts = z.infer<typeof counts>;

const address = text(2000).min(1, rule('empty'));

export const provisioningTargets = entity({
  table: 'provisioning_targets',
  one: 'provisioning_target',
  permission: 'provisioning_targets',
  section: 'provisioning_targets',
  called: 'client',
  find: 'id = $1 OR client = $1',
  most: maxTargets,
  versioned: true,
  order: [
    'client',
    'base_url',
    'bearer_token',
    'token_endpoint',
    'client_id',
    'client_secret',
    'attributes',
    'groups',
    'leave',
    'status',
  ],
  members: {
    client: member(
      'The client whose users get accounts at the application: each user who may use the client. It cannot be changed.',
      text(512).min(1, rule('empty')),
      {
        required: true,
        fixed: true,
        refers: 'clients',
        when: ({ id }: Input) => id === undefined,
        form: { kind: 'text', most: 512, picks: 'clients' },
        list: true,
      },
    ),
    base_url: member(
      'The https URL of the SCIM service of the application, such as https://app.example/scim/v2. It must be outside of the service’s own network.',
      address,
      { required: true, trust: true, form: 'address', list: true },
    ),
    bearer_token: member('The token that the application gave, which each request carries.', text(4000), {
      secret: true,
      form: { kind: 'secret', most: 4000 },
    }),
    token_endpoint: member(
      'The https URL that gives access tokens to client_id and client_secret (RFC 6749 4.4), where the application has no bearer token.',
      address,
      { form: 'address', noSecret: 'It is an address.', trust: true },
    ),
    client_id: member('The client_id at the token endpoint.', text(512).min(1, rule('empty')), {
      form: { kind: 'text', most: 512 },
    }),
    client_secret: member('The client_secret at the token endpoint.', text(4000), {
      secret: true,
      form: { kind: 'secret', most: 4000 },
    }),
    attributes: member(
      'The attributes that accounts have beside userName, externalId and active. Of addresses only a confirmed one is sent.',
      z.array(z.enum(chosenAttributes)),
      {
        start: ['name', 'displayName', 'emails'],
        option: 'attribute',
        form: { kind: 'boxes', choices: chosenAttributes },
      },
    ),
    groups: member(
      'The groups that the application gets, with those of their members who have an account.',
      z.array(groupName).max(maxGroups, rule('entries', { most: String(maxGroups) })),
      {
        start: [],
        refers: 'groups',
        released: true,
        option: 'group',
        form: { kind: 'lines', writing: 'auto', picks: 'groups' },
      },
    ),
    leave: member(
      'What happens to the account of a user who may no longer use the client: disable, delete, or nothing. An account that the service did not create is disabled, never deleted.',
      z.enum(['disable', 'delete', 'nothing']),
      { start: 'disable', form: 'radio' },
    ),
    status: member('Whether changes are sent.', z.enum(['enabled', 'disabled']), {
      start: 'enabled',
      form: 'radio',
    }),
  },
  row: {
    state: column<TargetState>(
      z
        .enum(targetStates)
        .describe(
          'held: nothing is sent until an administrator approves. failing: the last request got no good answer.',
        ),
      'provisioning_state(provisioning_targets.id, provisioning_targets.status)',
    ),
    counts: column<TargetCounts>(counts, 'provisioning_counts(provisioning_targets.id)'),
  },
});

export type ProvisioningTarget = EntityOf<typeof provisioningTargets>;
export type ProvisioningTargetMembers = MembersOf<typeof provisioningTargets>;
