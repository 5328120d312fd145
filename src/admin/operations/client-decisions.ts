// Declares the operations that approve or refuse pending registrations and changes of clients, and dismiss warnings about their names.
import { maxClientId } from '../../oauth/client-document.ts';
import { rule } from '../../oauth/refusals.ts';
import { z } from 'zod';
import { clientView } from '../../domain/administration/administrator-views.ts';
import { text } from '../../oauth/text.ts';
import { path } from './clients.ts';
import { byId, operation } from './operation.ts';

const section = { permission: 'clients', tag: 'clients' } as const;
const approval = z.strictObject({
  version: z
    .int()
    .min(0)
    .max(2 ** 31 - 1),
});

export const approveClient = operation({
  method: 'POST',
  path: `${path}/:id/approve`,
  ...section,
  summary:
    'Enables a disabled client, whose pending change stays pending, or approves the pending change of an enabled one, if the client still has the reviewed version',
  params: byId,
  input: () => approval,
  answer: 'Client',
  async handler({ administration, clients }, { params: { id }, input: { version }, actor }) {
    const client = await administration.approveClient(actor, id, version);
    clients.forget(id);
    return client;
  },
  view: clientView,
});

export const refuseClient = operation({
  method: 'POST',
  path: `${path}/:id/refuse`,
  ...section,
  summary: 'Refuses a pending registration or change, with a reason that the registrant can read',
  params: byId,
  input: () => approval.extend({ reason: text(1000).min(1) }),
  answer: 'Client',
  async handler({ administration, clients }, { params: { id }, input: { version, reason }, actor }) {
    const client = await administration.refuseClient(actor, id, version, reason);
    clients.forget(id);
    return client;
  },
  view: clientView,
});

export const decideClients = operation({
  method: 'POST',
  path: `${path}/decide`,
  ...section,
  summary:
    'Approves or refuses the pending registrations or changes of several clients, each independently of the others',
  input: () =>
    z
      .strictObject({
        decision: z.enum(['approve', 'refuse'], rule('decision')),
        reason: text(1000).min(1).optional().describe('Required to refuse; the registrants can read it.'),
        clients: z
          .array(approval.extend({ client_id: text(maxClientId) }))
          .min(1)
          .max(100)
          .describe('Each with the version that you reviewed.'),
      })
      .refine(({ decision, reason }) => decision === 'approve' || reason !== undefined, {
        path: ['reason'],
        ...rule('refusal-reason'),
      }),
  answer: 'DecisionOutcomes',
  async handler({ administration, clients }, { input: { decision, reason, clients: looked }, actor }) {
    const outcomes = await administration.decideClients(
      actor,
      looked.map(({ client_id: clientId, version }) => ({ clientId, version })),
      decision === 'refuse' ? reason : undefined,
    );
    for (const { clientId } of outcomes) clients.forget(clientId);
    return outcomes;
  },
  view: (outcomes) => ({
    outcomes: outcomes.map(({ clientId, outcome }) => ({ client_id: clientId, outcome })),
  }),
});

export const dismissLookAlike = operation({
  method: 'POST',
  path: `${path}/:id/look-alikes/:other/dismiss`,
  ...section,
  summary: 'Dismisses the warning that two clients have similar names, while both keep their names',
  params: byId.extend({ other: text(maxClientId) }),
  input: () =>
    z.strictObject({
      name: text(1000).optional().describe('The name of the client that was reviewed; conflict if it has changed.'),
      other_name: text(1000).optional().describe('The name of the other client, as well.'),
    }),
  handler: ({ administration }, { params: { id, other }, input: { name, other_name: otherName }, actor }) =>
    administration.dismissLookAlike(actor, [id, other], { name, otherName }),
  command: {
    name: 'client dismiss-look-alike',
    options: {},
    text: (_, { params: { id, other } }) => `The warning that ${id} and ${other} have similar names is dismissed.`,
    json: (_, { params: { id, other } }) => ({ client_id: id, other_client_id: other }),
  },
});

export const clientDecisionOperations = [approveClient, refuseClient, decideClients, dismissLookAlike];
