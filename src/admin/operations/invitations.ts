// Declares the operations on invitations: invite a user who cannot sign in yet, and revoke the invitation.
import { newInvitation } from '../../domain/administration/invitations.ts';
import { bySub, operation } from './operation.ts';
import { findUser, invitationView } from './users.ts';

const section = { permission: 'users', tag: 'users' } as const;
const path = '/admin/api/users/:sub/invitation';

export const inviteUser = operation({
  method: 'POST',
  path,
  ...section,
  summary:
    'Invites a user without password and second factor, by mail or by a link in the answer; older invitations end',
  params: bySub,
  status: 201,
  answer: 'Invitation',
  async handler({ store, config, administration }, { params: { sub }, actor }) {
    const { uri, delivery } = newInvitation(config, (await findUser(store, sub)).email);
    return { uri, expiresAt: await administration.inviteUser(actor, sub, delivery) };
  },
  view: invitationView,
});

export const revokeInvitation = operation({
  method: 'DELETE',
  path,
  ...section,
  summary: 'Revokes the invitation of a user, whose link no longer works',
  params: bySub,
  needsRecentSignIn: false,
  handler: ({ administration }, { params: { sub }, actor }) => administration.revokeInvitation(actor, sub),
  view: () => undefined,
  command: {
    name: 'user revoke-invitation',
    text: (revoked, { typed }) =>
      revoked
        ? `The invitation of ${typed['sub']} is revoked.`
        : `The user ${typed['sub']} had no invitation: nothing changed.`,
    json: (revoked) => ({ revoked }),
  },
});

export const invitationOperations = [inviteUser, revokeInvitation];
