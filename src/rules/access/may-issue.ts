// The check before issuing: decides whether a code or a token may be issued (security R133). This is the readable form of may_issue.sql, which each
// statement that stores one asks; a property test holds the two equal.
import { type AccessClient, type AccessRefusal, type AccessUser, mayUse } from './access.ts';

export interface IssueFacts {
  /** Whose tokens they are. Undefined for a token of the client itself, which needs neither consent nor session. */
  user: (Required<AccessUser> & { /** Failed sign-ins make the account wait. */ paused: boolean }) | undefined;
  client: AccessClient & { epoch: number };
  /** The epoch of the client in what is exchanged; undefined for a new authorization. */
  atEpoch: number | undefined;
  /** Whether the user has granted the client anything. */
  consent: boolean;
  /** Whether the session of the authorization lives. */
  sessionLives: boolean;
  /** Whether the authorization outlives its session (offline_access). */
  offline: boolean;
  /**
   * Whether the authorization began in a browser in which the user is or was signed in. Else failed sign-ins pause it: what a stranger can cause
   * ends nothing that the user began (security R63).
   */
  inKnownBrowser: boolean;
  /** How the user had signed in. */
  by: { connection: string | undefined };
  /** Where the browser or client acts, if the networks of the client are asked. */
  from?: { address: string | undefined };
}

export type IssueRefusal =
  | AccessRefusal
  | 'client_ended' // disabled since, though enabled again
  | 'user_paused'
  | 'no_consent' // withdrawn
  | 'session_ended';

/** Returns `yes`, or the first reason for which nothing is issued. */
export function mayIssue({ user, client, from, by, ...facts }: IssueFacts): 'yes' | IssueRefusal {
  // the groups and the connections of the client are about users
  const asked = user ? client : ({ ...client, access: 'everyone', connections: [] } as const);
  const use = mayUse(user ?? { groups: [] }, asked, { by, ...(from && { from }) });
  if (use !== 'yes') return use;
  if (facts.atEpoch !== undefined && facts.atEpoch !== client.epoch) return 'client_ended';
  if (!user) return 'yes';
  if (!facts.consent) return 'no_consent';
  if (!facts.sessionLives && !facts.offline) return 'session_ended';
  return user.paused && !facts.inKnownBrowser ? 'user_paused' : 'yes';
}
