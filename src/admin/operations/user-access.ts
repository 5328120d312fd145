// Declares the operation that says whether a user may use a client now, with every reason.
import { z } from 'zod';
import { maxClientId } from '../../oauth/client-document.ts';
import { displayName } from '../../oauth/client-metadata.ts';
import { text } from '../../oauth/text.ts';
import { type AccessCheck, type AccessReason, checkAccess } from '../../rules/access/check-access.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { User } from '../../repositories/users/users.ts';
import { findClient } from './clients.ts';
import { bySub, operation } from './operation.ts';
import { harmless } from './text-table.ts';
import { findUser } from './users.ts';

/** What was checked, and what the rules say. */
export interface CheckedAccess extends AccessCheck {
  user: User;
  client: Client;
  /** Whether the user has a second factor. */
  enrolled: boolean;
  /** The scopes that the user has granted the client. */
  granted: readonly string[];
  pausedUntil: Date | undefined;
}

/** Each reason, with the commands that change it. */
export const accessSentences: Record<AccessReason, string> = {
  client_disabled: 'The client is disabled; client approve enables it.',
  user_disabled: 'The user is disabled; user enable changes that.',
  not_in_group: 'The user is in none of the groups that may use the client; group add or client access changes that.',
  connection_not_allowed:
    'The client accepts no way in which the user can sign in; client access changes its connections.',
  network: 'The address is in none of the networks of the client; client access changes them.',
  no_way_to_sign_in: 'The user has no password, no passkey and no enabled connection; user invite changes that.',
  sign_in_paused: 'Failed sign-ins pause the account in new browsers; user forget-failures ends the pause.',
};

function linesOf({ reasons, secondFactor, enrolled, consent, client, user }: CheckedAccess): string[] {
  const { networks } = client;
  return [
    `${harmless(user.username)} ${reasons.length > 0 ? 'may not' : 'may'} use ${harmless(displayName(client.clientId, client.metadata))}.`,
    ...reasons.map((reason) => `- ${reason}: ${accessSentences[reason]}`),
    ...(networks.length > 0 && !reasons.includes('network') ? [`- only from ${networks.join(', ')}`] : []),
    ...(secondFactor
      ? [`- second factor: ${enrolled ? 'asked for' : 'must be set up at the sign-in'} (${secondFactor})`]
      : []),
    `- consent: ${consent.replace('_', ' ')}`,
  ];
}

export const showUserAccess = operation({
  permission: 'users',
  method: 'GET',
  path: '/admin/api/users/:sub/access/:client_id',
  tag: 'users',
  summary: 'Shows whether a user may use a client now, with every reason if not',
  params: bySub.extend({ client_id: text(maxClientId) }),
  input: () =>
    z.strictObject({
      address: text(45).optional().describe('The IP address of the user, for a client with networks.'),
    }),
  answer: 'UserAccess',
  async handler(
    { store, config },
    { params: { sub, client_id: clientId }, input: { address } },
  ): Promise<CheckedAccess> {
    const [user, client] = await Promise.all([findUser(store, sub), findClient(store, clientId)]);
    const [links, connections, factors, grant, excepted, pausedUntil] = await Promise.all([
      store.linkedIdentities.ofUser(sub),
      store.connections.list(),
      store.secondFactors.list(sub),
      store.grants.find(sub, clientId),
      store.breakGlass.has(sub),
      store.signInFailures.heldUntil({ sub, name: user.username }),
    ]);
    const enrolled = factors.length > 0;
    const check = checkAccess({
      user: {
        ...user,
        signsInHere: user.passwordHash !== undefined || factors.some(({ kind }) => kind === 'passkey'),
        enrolled,
        links: links.map(({ connectionId }) => connectionId),
        excepted,
        paused: pausedUntil !== undefined,
      },
      client: { ...client, selfRegistered: client.approvedBy === 'automatic' },
      connections,
      policy: config.secondFactor,
      grant,
      asked: { scope: ['openid'], claims: [], resources: {}, redirectUri: client.metadata.redirect_uris[0] ?? '' },
      address,
    });
    return { ...check, user, client, enrolled, granted: grant?.scope ?? [], pausedUntil };
  },
  view: ({ user, client, reasons, ways, secondFactor, enrolled, consent, granted, pausedUntil }) => ({
    sub: user.sub,
    username: user.username,
    client_id: client.clientId,
    allowed: reasons.length === 0,
    reasons,
    ways: ways.map(({ connection, accepted }) => ({ ...(connection !== undefined && { connection }), accepted })),
    ...(client.access === 'groups' && { access_groups: client.accessGroups }),
    ...(client.networks.length > 0 && { networks: client.networks }),
    ...(secondFactor && { second_factor: { demanded_by: secondFactor, set_up: enrolled } }),
    consent,
    ...(granted.length > 0 && { granted_scope: granted.join(' ') }),
    ...(pausedUntil && { paused_until: pausedUntil.toISOString() }),
  }),
  command: {
    name: 'user access',
    text: (checked) => linesOf(checked).join('\n'),
  },
});

export const userAccessOperations = [showUserAccess];
