// Prepares the check of a user's access to a client for pages of the console: each reason with the button that changes it.
import { displayName } from '../../oauth/client-metadata.ts';
import type { AccessReason } from '../../rules/access/check-access.ts';
import type { AccessCheckView, ReasonAct, ReasonView } from '../../pages/views/console-access.ts';
import { clientPath } from '../client-review.ts';
import { connectionNames } from '../operations/pages/connections.ts';
import { type CheckedAccess, showUserAccess } from '../operations/user-access.ts';
import type { AdminSession } from './admin-session.ts';

/** How many groups get a button each. */
const mostButtons = 3;
const pathOf = (sub: string) => `/admin/users/${encodeURIComponent(sub)}`;

/** Runs the check, and names what it found. @throws OAuthError not_found */
export async function checkedAccess(
  admin: AdminSession,
  sub: string,
  clientId: string,
  address?: string,
): Promise<AccessCheckView> {
  const [checked, names] = await Promise.all([
    admin.run(showUserAccess, { sub, client_id: clientId }, { address }),
    admin.run(connectionNames, undefined),
  ]);
  const { user, client, ways, reasons, secondFactor, enrolled, consent, granted } = checked;
  const nameOf = (id: string) => names.get(id) ?? id;
  const userUri = pathOf(sub);
  const clientUri = clientPath(clientId);
  const demanded = { client: `${clientUri}/edit#required_acr`, resource: clientUri, account: userUri };
  return {
    user: { name: user.username, uri: userUri },
    client: { name: displayName(client.clientId, client.metadata), uri: clientUri },
    reasons: reasons.map((code) => reasonView(code, checked, nameOf)),
    ways: ways.map(({ connection, accepted }) => ({
      ...(connection !== undefined && { name: nameOf(connection) }),
      accepted,
    })),
    networks: address === undefined ? client.networks : [],
    ...(secondFactor && {
      secondFactor: {
        by: secondFactor,
        setUp: enrolled,
        uri: secondFactor === 'service' ? '/admin/settings?q=REQUIRE_SECOND_FACTOR' : demanded[secondFactor],
      },
    }),
    consent,
    granted,
    form: admin.repeatableForm(userUri),
  };
}

function reasonView(
  code: AccessReason,
  { user, client, pausedUntil }: CheckedAccess,
  nameOf: (id: string) => string,
): ReasonView {
  const clientUri = clientPath(client.clientId);
  const edit = (field: string): ReasonAct => ({ act: 'edit-access', uri: `${clientUri}/edit#${field}` });
  const view = (acts: ReasonAct[], names: readonly string[] = []): ReasonView => ({ code, names, acts });
  switch (code) {
    case 'client_disabled':
      return view([{ act: 'enable-client', uri: clientUri }]);
    case 'user_disabled':
      return view([{ act: 'enable-user' }]);
    case 'not_in_group': {
      const join = client.accessGroups.slice(0, mostButtons).map((group): ReasonAct => ({ act: 'join', group }));
      return view([...join, edit('access')], client.accessGroups);
    }
    case 'connection_not_allowed':
      return view([edit('connections')], client.connections.map(nameOf));
    case 'network':
      return view([edit('networks')], client.networks);
    case 'no_way_to_sign_in':
      return view([{ act: 'invite', uri: pathOf(user.sub) }]);
    case 'sign_in_paused':
      return { ...view([{ act: 'user', uri: pathOf(user.sub) }]), ...(pausedUntil && { until: pausedUntil }) };
  }
}
