// Decides whether a user may use a client: the one rule for sign-in, tokens, pages and other protocols (federation 3 and 7, FR42).
import { isWithin } from './networks.ts';

/** Who may use a client: everyone, or the members of its groups. */
export const accessRules = ['everyone', 'groups'] as const;
export type AccessRule = (typeof accessRules)[number];

/** Every reason for which a user may not use a client, in the order in which they are told: those that no user can change come first. */
export const accessRefusals = [
  'client_disabled',
  'user_disabled',
  'not_in_group',
  'connection_not_allowed',
  'network',
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

/** When each refusal applies. */
const cases: Record<AccessRefusal, (user: AccessUser, client: AccessClient, situation: AccessSituation) => boolean> = {
  client_disabled: (_, { status }) => status !== 'enabled',
  user_disabled: ({ status }) => status === 'disabled',
  not_in_group: ({ groups }, { access, accessGroups }) =>
    access !== 'everyone' && !accessGroups.some((group) => groups.includes(group)),
  connection_not_allowed: (_, { connections }, { by }) =>
    by !== undefined && connections.length > 0 && !connections.includes(by.connection ?? ''),
  network: (_, { networks }, { from }) =>
    from !== undefined && networks.length > 0 && !isWithin(networks, from.address),
};

/** Every reason for which the user may not use the client. */
export const refusalsOf = (user: AccessUser, client: AccessClient, situation: AccessSituation = {}): AccessRefusal[] =>
  accessRefusals.filter((refusal) => cases[refusal](user, client, situation));

/** Returns `yes`, or the first reason for which the user may not use the client. */
export const mayUse = (
  user: AccessUser,
  client: AccessClient,
  situation: AccessSituation = {},
): 'yes' | AccessRefusal => accessRefusals.find((refusal) => cases[refusal](user, client, situation)) ?? 'yes';
