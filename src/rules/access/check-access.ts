// Says whether a user may use a client now, with every reason: it asks the rules that decide a sign-in, once for each way in which the user can sign in.
import type { Granted } from '../../oauth/granted.ts';
import { requiredOf, type RoutedConnection } from '../connections/connection-route.ts';
import { type AccessClient, accessRefusals, type AccessUser, refusalsOf } from './access.ts';
import { type DemandedBy, grantCovers, type Member, missingDemand, type SecondFactorPolicy } from './demands.ts';

/** Beside the refusals of the client: the user has no way to sign in, or too many failed sign-ins pause the account in new browsers. */
export const accessReasons = [...accessRefusals, 'no_way_to_sign_in', 'sign_in_paused'] as const;
export type AccessReason = (typeof accessReasons)[number];

/** A connection, as far as the sign-in of a user asks. */
export interface WayConnection extends RoutedConnection {
  id: string;
  status: string;
  enforced: boolean;
}

export interface CheckedUser extends Required<AccessUser>, Member {
  username: string;
  email?: string | undefined;
  /** A password or a passkey. */
  signsInHere: boolean;
  /** Has a second factor of any kind. */
  enrolled: boolean;
  /** The connections to which the user is linked. */
  links: readonly string[];
  /** An administrator excepted the user from an enforced domain (federation FR14). */
  excepted: boolean;
  paused: boolean;
}

export interface AccessFacts {
  user: CheckedUser;
  client: AccessClient & {
    firstParty: boolean;
    selfRegistered: boolean;
    development?: boolean;
    requiredAcr: string | undefined;
  };
  connections: readonly WayConnection[];
  policy: SecondFactorPolicy;
  grant: (Granted & { redirectUris: readonly string[] }) | undefined;
  asked: Granted & { redirectUri: string };
  /** Where the user is; undefined to leave the networks of the client out. */
  address: string | undefined;
}

export interface AccessCheck {
  reasons: AccessReason[];
  /** How the user can sign in, and whether the client accepts it. The connection is undefined for a sign-in by the service itself. */
  ways: { connection: string | undefined; accepted: boolean }[];
  /** Who demands a second factor; `account` for a user who has one. */
  secondFactor: DemandedBy | 'account' | undefined;
  consent: 'not_asked' | 'given' | 'asked';
}

export function checkAccess({ user, client, connections, policy, grant, asked, address }: AccessFacts): AccessCheck {
  const accepts = (connection: string | undefined) =>
    !refusalsOf(user, client, { by: { connection } }).includes('connection_not_allowed');
  const ways = waysOf(user, connections).map((connection) => ({ connection, accepted: accepts(connection) }));
  const refused = new Set<AccessReason>(refusalsOf(user, client, address === undefined ? {} : { from: { address } }));
  if (ways.length === 0) refused.add('no_way_to_sign_in');
  else if (!ways.some(({ accepted }) => accepted)) refused.add('connection_not_allowed');
  if (user.paused) refused.add('sign_in_paused');
  const demanded = missingDemand(client, [], policy, user, ['pwd'])?.by;
  const consent = grantCovers(grant, client, asked) ? 'given' : 'asked';
  return {
    reasons: accessReasons.filter((reason) => refused.has(reason)),
    ways,
    secondFactor: demanded ?? (user.enrolled ? 'account' : undefined),
    consent: client.development ? 'asked' : client.firstParty ? 'not_asked' : consent,
  };
}

/** The ways in which a user can sign in: a user of an enforced domain has one. */
function waysOf(user: CheckedUser, connections: readonly WayConnection[]): (string | undefined)[] {
  const required = user.excepted ? undefined : requiredOf(user, connections);
  if (required) return [required.id];
  const linked = connections.filter(({ id, status }) => status === 'enabled' && user.links.includes(id));
  return [...(user.signsInHere ? [undefined] : []), ...linked.map(({ id }) => id)];
}
