// Declares the operations on provisioning targets: those of every entity, their approval and reconciliation, and what they last heard of users (federation 8).
import { z } from 'zod';
import { pageOf, pageShape, readCursor } from '../../domain/administration/paging.ts';
import { provisioningTargetAdministration } from '../../domain/administration/provisioning-targets.ts';
import { type ProvisioningTarget, provisioningTargets } from '../../entities/provisioning-targets.ts';
import { text } from '../../oauth/text.ts';
import type { AccountSummary } from '../../repositories/provisioning/provisioned-users.ts';
import { entityOperations } from './entities.ts';
import { operation, pageOperation } from './operation.ts';
import { shellWord, table } from './text-table.ts';

const named = 'The id, or the client_id of its client.';
const path = '/admin/api/provisioning-targets/:provisioning_target';
const section = { permission: 'provisioning_targets', tag: 'provisioning_targets' } as const;
const byTarget = z.object({ provisioning_target: text(512).describe(named) });

export const provisioningTargetActs = entityOperations(provisioningTargets, {
  says: {
    list: 'Lists all provisioning targets (at most 32), newest first',
    create:
      'Creates a provisioning target: the application of a client gets accounts by SCIM. Nothing is sent until it is approved',
    show: 'Shows a provisioning target with its state and counts, without its secrets',
    change: 'Changes a provisioning target, except its client',
    delete: 'Deletes a provisioning target. The accounts at the application stay as they are',
  },
  named,
  most: 512,
  answers: { one: 'ProvisioningTarget', page: 'ProvisioningTargetPage' },
  columns: {
    ID: ({ id }) => id,
    CLIENT: ({ client }) => client,
    STATE: ({ state }) => state,
    ACTIVE: ({ counts }) => String(counts.active),
    WAITING: ({ counts }) => String(counts.waiting),
    FAILING: ({ counts }) => String(counts.failing),
    'BASE URL': ({ baseUrl }) => baseUrl,
  },
  done: {
    create: ({ client }) =>
      `Created the provisioning target of ${client}. Nothing is sent until you approve it: bin/gatehouse provisioning-target approve ${shellWord(client)}`,
    change: ({ client, state }) => `Changed the provisioning target of ${client}: it is ${state}.`,
    delete: ({ client }) => `Deleted the provisioning target of ${client}. The accounts there stay as they are.`,
  },
  repository: ({ store }) => store.provisioningTargets,
  administration: provisioningTargetAdministration,
});

/** What the page of a target shows beside it. */
export const provisioningTargetPage = pageOperation(
  'provisioning_targets',
  'read',
  ({ store }, { id }: ProvisioningTarget) => store.provisioningTargets.run(id),
);

export const approveProvisioning = operation({
  ...section,
  method: 'POST',
  path: `${path}/approve`,
  summary: 'Approves the first run of a provisioning target, or a change that would end many accounts',
  params: byTarget,
  input: () =>
    z.strictObject({
      leaving: z
        .int()
        .min(0)
        .optional()
        .describe('The most accounts that may end: if more would end, nothing is approved.'),
    }),
  answer: 'ApprovedProvisioning',
  handler: (context, { params: { provisioning_target: name }, input: { leaving }, actor }) =>
    provisioningTargetAdministration(context).approve(actor, name, leaving),
  command: {
    name: 'provisioning-target approve',
    text: ({ leaving }) => `Approved: changes are sent now. Accounts that end: ${leaving}.`,
  },
});

export const reconcileProvisioning = operation({
  ...section,
  method: 'POST',
  path: `${path}/reconcile`,
  summary: 'Compares all users with what a provisioning target has of them, as each night',
  params: byTarget,
  handler: (context, { params: { provisioning_target: name }, actor }) =>
    provisioningTargetAdministration(context).reconcile(actor, name),
  command: {
    name: 'provisioning-target reconcile',
    text: (_done, { params: { provisioning_target: name } }) =>
      `All users of the provisioning target ${name} are compared now.`,
    json: (_done, { params }) => params,
  },
});

const accountView = (account: AccountSummary) => ({
  sub: account.sub,
  username: account.username,
  remote_id: account.remoteId,
  state: account.state,
  waiting: account.isWaiting,
  problem: account.problem,
  last_act: account.act,
  answer_status: account.status,
  answered_at: account.answeredAt?.toISOString(),
  last_failure: account.lastFailure,
  next_attempt_at: account.nextAttemptAt?.toISOString(),
  created_at: account.createdAt.toISOString(),
});

const isSub = (value: string): boolean => value.length > 0 && value.length <= 255;

export const listProvisionedUsers = operation({
  ...section,
  method: 'GET',
  path: `${path}/users`,
  summary: 'Lists what a provisioning target last heard of each user, newest accounts first',
  params: byTarget,
  input: () =>
    pageShape.extend({
      failing: z
        .enum(['true', 'false'])
        .optional()
        .describe('With true it lists only users whose last request failed.'),
    }),
  answer: 'ProvisionedUserPage',
  async handler(context, { params: { provisioning_target: name }, input: { limit, cursor, failing } }) {
    const { id } = await provisioningTargetActs.find(context, name);
    const page = { limit, after: readCursor(cursor, isSub) };
    return { limit, users: await context.store.provisionedUsers.list(id, page, failing === 'true') };
  },
  view: ({ limit, users }) => pageOf('users', users, limit, accountView, ({ createdAt: at, sub: id }) => ({ at, id })),
  command: {
    name: 'provisioning-target users',
    options: { limit: 'limit', failing: 'failing' },
    limit: 50,
    text: ({ users }) =>
      table(
        ['SUB', 'USERNAME', 'STATE', 'LAST ACT', 'ANSWER', 'ANSWERED', 'NEXT ATTEMPT', 'LAST FAILURE'],
        users.map((one) => [
          one.sub,
          one.username ?? '',
          one.state,
          one.act ?? '',
          String(one.status ?? ''),
          one.answeredAt?.toISOString() ?? '',
          one.nextAttemptAt?.toISOString() ?? '',
          one.lastFailure ?? '',
        ]),
      ),
    json: ({ users }) => users.map(accountView),
  },
});

export const provisioningTargetOperations = [
  ...provisioningTargetActs.all,
  approveProvisioning,
  reconcileProvisioning,
  listProvisionedUsers,
];
