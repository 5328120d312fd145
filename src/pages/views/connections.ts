// Declares what the pages of sign-in by a connection show.
import type { AccountFrame } from './account.ts';
import type { ConsoleFrame } from './console.ts';
import type { RuleListView } from './console-rules.ts';
import type { MarkView } from '../connection-mark.ts';
import type { directoryCheckProblems } from './directories.ts';
import type { ClientView, FieldView, Footer, FormView, RefusedView } from './parts.ts';
import type { WayView } from './sign-in.ts';

/** Why a sign-in by a connection ended; each is a key of the catalogue under `connections.problem.`. */
export const connectionProblems = [
  'unreachable',
  'settings',
  'answer',
  'cancelled',
  'organization',
  'expired',
  'tampered', // the form's token is missing or another one
  'cookies', // the browser sends none
  'closed',
  'disabled',
  'linked-elsewhere',
  'linked-otherwise',
  'account-linked-otherwise',
  'not-signed-in',
  'own-session',
  'address-taken',
  'not-admitted',
  'elsewhere',
  'untimed', // no time says that it is the user, who has nothing else to show
] as const;
export type ConnectionProblem = (typeof connectionProblems)[number];

/** What the console's forms create; all but the directory have words under `console.connection-type.`. */
export type ConnectionTypeName = 'oidc' | 'google' | 'microsoft' | 'github' | 'apple' | 'oauth' | 'saml' | 'directory';

/** The addresses of this service for the identity provider of a connection by SAML. */
export type SamlAddresses = Record<'metadata' | 'acs' | 'logout', string>;

/** A certificate whose key is pinned, or would be. */
export interface CertificateView {
  fingerprint: string;
  notAfter: Date;
}

export interface ConnectionPages {
  /** Says in our words why a sign-in ended, and where to go on. */
  'connection-problem': Footer & {
    problem: ConnectionProblem;
    /** The name of the connection. */
    name?: string;
    client?: ClientView;
    /** The sign-in page, with the request that waits. */
    signInUri: string;
    /** The connection that owns the domain of the address. */
    leadsTo?: WayView;
    reference: string;
  };
  /** Leads to a connection by itself, with a link for browsers that do not. */
  'login-leave': Footer & { name: string; client?: ClientView; uri: string };
  /** Asks the user to prove an account, and then to connect it. */
  'login-connect': Footer & {
    name: string;
    client?: ClientView;
    /** The address that both have. */
    address: string;
    /** Present once the user has signed in to the account. */
    form?: FormView;
    /** Signs in to the account. */
    signInUri: string;
    /** Whether another user than that of the account has signed in; or this one elsewhere, where nothing says when. */
    other?: boolean;
    untimed?: boolean;
  };
  /** Asks for the user name of a new account; posts `username`. */
  'login-name': Footer & {
    name: string;
    client?: ClientView;
    form: FormView;
    username: string;
    fault?: 'taken' | 'unusable' | 'throttled';
  };
  /** Lists the links of the user. Posts `act`: "begin" or "remove" with `connection`, or "confirm" or "leave". */
  'account-connections': AccountFrame & {
    links: (Partial<MarkView> & { connection: string; name: string; since: Date; usedAt?: Date })[];
    /** Connections that can be linked. */
    open: (MarkView & { connection: string; name: string })[];
    form: FormView;
    /** An identity that waits to be linked: what it calls itself. */
    waiting?: { connection: string; name: string; identity: string };
    problem?: 'only-way' | ConnectionProblem;
    /** The connection that the problem is about. */
    name?: string;
  };
  'console-connections': ConsoleFrame & {
    connections: ({
      name: string;
      id: string;
      kind: string;
      status: 'enabled' | 'disabled' | 'link_only';
      /** Absent if no user has signed in by it. */
      usedAt?: Date;
      uri: string;
    } & MarkView)[];
    newUri: string;
    newDirectoryUri: string;
  };
  /** Asks where people will sign in. */
  'console-connection-types': ConsoleFrame & {
    types: { name: ConnectionTypeName; uri: string }[];
  };
  'console-connection': ConsoleFrame & {
    connection: {
      id: string;
      name: string;
      kind: string;
      preset?: string;
      status: 'enabled' | 'disabled' | 'link_only';
      issuer: string;
      clientId: string;
      linking: 'never' | 'ask' | 'domain';
      provisioning: 'off' | 'invited' | 'on';
      authoritativeDomains: string[];
      /** Those that lead here, and whether their users sign in by nothing else. */
      domains: string[];
      subdomains: boolean;
      enforced: boolean;
      hidden: boolean;
      trustMfa: boolean;
      secretSince?: Date;
      discoveredAt?: Date;
      createdAt: Date;
    };
    /** To enter at the other side; absent for SAML. */
    redirectUri?: string;
    saml?: {
      addresses: SamlAddresses;
      certificates: CertificateView[];
      ownEnds?: Date;
      /** Reads the metadata now. Posts nothing else. */ readForm?: FormView;
    };
    /** What the identity provider has published since. Posts `digest`, to accept it. */
    published?: {
      entityId: string;
      ssoUri: string;
      sloUri?: string;
      certificates: (CertificateView & { isNew: boolean })[];
      form: FormView;
    };
    /** Where the provider says that a session there has ended, and where users come back after signing out there. */
    logoutUris?: Record<'backchannel' | 'frontchannel' | 'signed-out', string>;
    /** The address of the connection's key, for the other side. */
    keyUri?: string;
    /** The accounts in its domains whose address was confirmed by a word only. */
    wordConfirmations?: { count: number; uri: string };
    rules: RuleListView[];
    editUri: string;
    deleteUri: string;
  };
  /** Lists these accounts. Posts nothing else, to take the confirmations back. */
  'console-word-confirmations': ConsoleFrame & {
    name: string;
    uri: string;
    domains: string[];
    count: number;
    /** The first ones. */
    accounts: { username: string; email: string; uri: string }[];
    form: FormView;
  };
  /** Posts every member under its name. */
  'console-connection-form': ConsoleFrame & {
    /** The connection that is changed. */
    of?: { name: string; uri: string };
    /** Absent for a directory and for SAML; with the id of the connection if it is known. */
    redirectUri?: string;
    samlAddresses?: SamlAddresses;
    type: ConnectionTypeName;
    fields: FieldView[];
    /** The fields of a new directory that its test needs: they come first, with the button of the test. */
    tested?: readonly string[];
    test?: { problem?: (typeof directoryCheckProblems)[number] | undefined; users: number };
    form: FormView;
    refused?: RefusedView;
  };
  'console-connection-delete': ConsoleFrame & {
    id: string;
    name: string;
    uri: string;
    /** How many users have no other way to sign in. */
    people: number;
    form: FormView;
    typed?: string;
    problem?: 'typed';
  };
}
