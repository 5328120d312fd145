// Decides whether a user may use a client: the one rule for sign-in, tokens, pages and other protocols (federation 3 and 7, FR42).
import { isWithin } from './networks.ts';

/** Who may use a client: everyone, or the members of its groups. */
export const accessRules = ['everyone', 'groups'] as const;
export type AccessRule = (typeof accessRules)[number];

/** Every reason for which a user may not use a client. */
export const accessRefusals = [
  'user_disabled',
  'client_disabled',
  'not_in_group',
  'network',
  'connection_not_allowed',
] as const;
export type AccessRefusal = (typeof accessRefusals)[number];

/** The user, as far as the rule asks. A user of a live session is enabled. */
export interface AccessUser {
  status?: 'enabled' | 'disabled';
  groups: readonly string[];
}

/** The client, as far as the rule asks. */
export interface AccessClient {
  status: 'enabled' | 'disabled';
  access: AccessRule;
  /** Membership in one of them is enough. */
  accessGroups: readonly string[];
  /** The networks from which browsers and clients may act; empty for all. */
  networks: readonly string[];
  /** The connections by which users may sign in to the client; empty for every way to sign in. */
  connections: readonly string[];
}

/** How the user acts. A member that is absent is not asked about: the start page, for example, knows no connection. */
export interface AccessSituation {
  /** Where the browser or the client acts, and undefined for an unknown address; absent where neither acts. */
  from?: { address: string | undefined };
  /** How the user signed in: the connection, or undefined for a sign-in by the service itself. */
  by?: { connection: string | undefined };
}

/** How the user of a session signed in. */
export const wayOf = ({ upstream }: { upstream: { connectionId: string } | undefined }) => ({
  connection: upstream?.connectionId,
});

/** Returns `yes`, or why the user may not use the client. The reasons that no user can change come first. */
export function mayUse(
  user: AccessUser,
  client: AccessClient,
  { from, by }: AccessSituation = {},
): 'yes' | AccessRefusal {
  const { access, accessGroups, networks, connections } = client;
  if (client.status !== 'enabled') return 'client_disabled';
  if (user.status === 'disabled') return 'user_disabled';
  if (access !== 'everyone' && !accessGroups.some((group) => user.groups.includes(group))) return 'not_in_group';
  if (by && connections.length > 0 && !connections.includes(by.connection ?? '')) return 'connection_not_allowed';
  if (from && networks.length > 0 && !isWithin(networks, from.address)) return 'network';
  return 'yes';
}
