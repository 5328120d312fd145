// Lists the rate limits: the counted attempts, the key, the window, and the cases in which an attempt is refunded.
//
// A setting LIMIT_… gives the attempts of a window. Each attempt counts before its work is done, on all instances together, in the table
// rate_limits. Three limits count on one instance alone: introspections of a client, failed client authentications of a client from a network
// that is past its limit (both rate-limits.ts), and password hashes (password-queue.ts). Failures of one account are in sign_in_failures.
// The maximum numbers of sessions, codes, registrations and pending requests are no rates: the database counts their rows.
import type { Config } from '../../config.ts';

/** Seconds of each window. */
const windows = {
  /** Sign-ins by password or passkey, by network, or by known browser. No refund. */
  signInPerNetwork: 60,
  /** Sign-ins by password without a known browser, all together. Refund when the password is right. */
  signInFailures: 60,
  /** Registrations, by network. No refund. */
  registrationPerNetwork: 3600,
  /** Requests for the state of a registration, by network. No refund. */
  registrationPolls: 60,
  /** Fetches of the documents of clients, by the user who asks. No refund. */
  metadataFetches: 60,
  /** The same, of all users together. No refund. */
  metadataFetchesInAll: 60,
  /** Failed client authentications, by client and network. No refund. */
  clientAuthFailures: 60,
  /** Failed client authentications, by network. No refund. */
  clientAuthFailuresPerNetwork: 60,
  /** Verification codes that administrators enter, by user and by network. Refund when the code is right. */
  verificationCodes: 15 * 60,
  /** Codes of devices that users enter, by user and by network. Refund when the code is right. */
  userCodes: 15 * 60,
  /** Pushed requests of public clients, by client and network. No refund. */
  pushedPerNetwork: 60,
  /** Pending sign-ins of a network. Their rows are the count; here an instance only remembers that the limit is passed. */
  pendingSignInsPerNetwork: 60,
  /** Sign-ins by connections that begin without a session, by network. No refund. */
  connectionBegins: 60,
  /** Answers of connections to requests of the browser that brings them, by network. No refund. */
  connectionAnswers: 60,
  /** Logouts that connections tell, by network: no sign-in needs it. Refund when the logout is signed. */
  connectionLogouts: 60,
  /** Tries of a connection after a failure, by connection. No refund. */
  connectionTries: 1,
  /** Failures of a connection that are recorded, by connection. No refund. */
  connectionFailures: 60,
  /** Passwords of a user that a directory refuses, by user or known browser. Refund when the password is right, or the directory fails. */
  directoryPasswords: 15 * 60,
  /** Events about a name that several entries of a directory have, by connection. No refund. */
  ambiguousNames: 60,
  /** Requests of a SCIM source. No refund. */
  scim: 60,
  /** Refusals on pages whose facts are kept, by network. No refund. */
  keptRefusals: 60,
  /** Mails with a link, by address, or by user for a change of the address. No refund. */
  mailedLinks: 3600,
  /** Requests for a mail with a link, by network. No refund. */
  mailedLinksPerNetwork: 3600,
} as const;

export type LimitName = keyof typeof windows;
export const limitNames = Object.keys(windows) as LimitName[];
export const windowOf = (name: LimitName): number => windows[name];

/** Attempts in a window, 0 for no limit. */
export function attemptsOf(settings: Config['limits']): Readonly<Record<LimitName, number>> {
  return {
    ...settings,
    // each connection has a limit of its own, below that of its directory
    directoryPasswords: 4,
    keptRefusals: 10,
    ambiguousNames: 1,
    connectionLogouts: settings.connectionAnswers,
    connectionTries: 1,
    connectionFailures: 1,
    metadataFetchesInAll: 10 * settings.metadataFetches,
    // of many clients together, so that invented client ids do not each get a row (security R41, R105)
    clientAuthFailuresPerNetwork: 20 * settings.clientAuthFailures,
    // a push by a public client needs only the client's name: one network must not use up the whole limit of the client
    pushedPerNetwork: Math.ceil(settings.pushedRequests / 10),
  };
}
