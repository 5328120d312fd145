// Declares what the console's pages about clients show.
import type { ConsoleFrame, SortView } from './console.ts';
import type { AuditEventRow, LinkedName } from './console-operations.ts';
import type { FieldGroup, FormView } from './parts.ts';
import type { SnippetView } from './snippet.ts';

/** The state of a client: what is pending, or whether it is enabled. */
export type ClientState = 'enabled' | 'disabled' | 'registration' | 'change' | 'refused' | 'collection';

/** One client of a list. All text here is untrusted. */
/** What an administrator enters at a SAML application. */
export interface SamlValues {
  metadataUri: string;
  entityId: string;
  ssoUri: string;
  sloUri: string;
  /** Where a sign-in begins without its request, if that is switched on. */
  startUri?: string;
  /** In PEM: that of the key that signs is first. */
  certificates: string[];
}

export interface ClientRow {
  name: string;
  clientId: string;
  uri: string;
  state: ClientState;
  /** The name of its kind. */
  kind: string;
  hosts: string[];
  selfRegistered: boolean;
  /** Its redirect URIs may be http in private networks. */
  development: boolean;
  usedAt?: Date;
  /** The path of the uploaded logo. */
  logo?: string | undefined;
  createdAt: Date;
}

/** The facts that an administrator reviews before a decision about a registration or a change. All text is untrusted. */
export interface ReviewFacts {
  name: string;
  clientId: string;
  uri: string;
  kind: 'registration' | 'change';
  /** The redirect hosts after approval; `since` is undefined for a host that no enabled client ever had, `fresh` marks one that the change adds. */
  hosts: { host: string; since?: Date; clients: number; local: boolean; fresh: boolean }[];
  /** Enabled clients whose names look like this one. */
  lookAlikes: { name: string; uri: string; same: boolean; dismissal?: FormView }[];
  /** Claimed resources that other clients hold: they prevent the approval. */
  heldResources: { uri: string; holder: string; holderUri: string }[];
  /** The difference of each member; for a registration all members. */
  changes: { member: string; added: string[]; removed: string[]; kept: string[] }[];
  document?: DocumentFacts;
  contacts: string[];
  address?: string;
  at: Date;
  /** Registered in approval mode: the developer can show the verification code. */
  awaitsCollection: boolean;
  /** Addresses that only an administrator can admit, by an approval of the enabled client. */
  waitingAddresses: string[];
  /** The client is disabled: approval only enables it, and the change stays pending. */
  disabled: boolean;
}

/** The facts about a client that is known by its document. All text is untrusted. */
export interface DocumentFacts {
  /** The host of the document, as users see it. */
  name: string;
  /** The address of the document, which is the client_id. */
  uri: string;
  /** The users who asked for the client: their number, and the first names. */
  askers: { count: number; usernames: string[] };
  /** Redirect hosts that are neither that of the document nor the user's own computer. */
  otherHosts: string[];
  /** Whether each redirect URI is on the user's own computer. */
  onlyLoopback: boolean;
  /** The document was missing for a day. */
  gone: boolean;
}

export type Named = { name: string; clientId: string; clientUri: string };

export interface ConsoleClientPages {
  /** The clients that match the filter. */
  'console-clients': ConsoleFrame & {
    filter: { q: string; status: string; registered: string; order: 'newest' | 'oldest' };
    filtered: boolean;
    clients: ClientRow[];
    created: SortView;
    first?: string;
    next?: string;
  };
  /** Pending registrations and changes with their review facts: each has its own form, and one form decides the selected ones. */
  'console-registrations': ConsoleFrame & {
    form?: FormView;
    waiting: (ReviewFacts & { decision: FormView })[];
    next?: string;
    first?: string;
    /** The outcome of the last decisions, if some failed. `problem`: the reason is missing, or nothing was selected. */
    report?: { decided: number; changed: string[]; held: string[]; gone: number };
    problem?: 'nothing' | 'reason';
    /** The client whose own form has the problem; otherwise it is the form for the selected ones. */
    entry?: string;
    /** The client ids of the selected entries. */
    selected: string[];
    reason: string;
  };
  'console-client': ConsoleFrame &
    Named & {
      state: ClientState;
      /** The name of its kind. */
      kind: string;
      enabled: boolean;
      /** What its developer enters in the application. `secret` is absent where it has none; it was set before that was noted if `since` is. */
      connect: {
        issuer: string;
        discoveryUri: string;
        method: string;
        secret?: { since?: Date };
        redirectUris: readonly string[];
        postLogoutRedirectUris: readonly string[];
        startUri?: string;
        /** Of a protected site: where it is, and what everyone may open there. */
        site?: { hosts: readonly string[]; openPaths: readonly string[] };
        /** The one that was seen last; `state` says whether it ends within 30 days, or has ended. */
        certificate?: { subject: string; expiresAt: Date; state: 'current' | 'ends' | 'ended' };
        /** What a SAML application has to know of this service, and what it told of itself. */
        saml?: SamlValues & { ownEntityId: string; acsUris: readonly string[] };
      };
      snippets: SnippetView[];
      /** The path of the uploaded logo. */
      logo?: string | undefined;
      /** Whether users sign in to it. */
      hasUsers: boolean;
      scopes: readonly string[];
      /** To the hour; absent if it never was. */
      usedAt?: Date;
      refusalReason?: string;
      facts: Pick<ReviewFacts, 'lookAlikes' | 'heldResources' | 'document'>;
      review?: ReviewFacts;
      /** Approves or refuses the pending registration or change, or enables a disabled client. */
      decision?: FormView;
      /** The reason of the refusal is missing. */
      problem?: 'reason';
      approvedBy?: 'administrator' | 'initial_access_token' | 'automatic';
      /** The administrator who created the client, and the address from which it was created. */
      origin?: { actor?: LinkedName; address?: string };
      selfRegistered: boolean;
      firstParty: boolean;
      selfManaged: boolean;
      weakSecret: boolean;
      development: boolean;
      /** The groups whose members may use it; absent if everyone may. */
      access?: { name: string; uri: string }[];
      /** Where users and the client may act; absent for everywhere. */
      networks?: string[];
      /** By which users sign in; absent for every way. */
      connections?: { id: string; uri: string }[];
      createdAt: Date;
      updatedAt: Date;
      members: { member: string; values: string[] }[];
      homeUri?: string;
      /** What depends on the client, each counted up to `most`. */
      figures: {
        name: 'sessions' | 'accessTokens' | 'refreshTokens' | 'grants' | 'settings' | 'logouts';
        count: number;
      }[];
      most: number;
      sessions: { username: string; userUri: string; scope: string; offline: boolean; createdAt: Date }[];
      logouts: {
        status: 'waiting' | 'delivered' | 'refused' | 'given_up';
        attempts: number;
        failure?: string;
        createdAt: Date;
      }[];
      events: AuditEventRow[];
      auditUri: string;
      tryUri?: string;
      /** Whether it is the console's own client, which cannot be changed here. */
      own: boolean;
    };
  /** Changes a client. */
  'console-client-edit': ConsoleFrame & {
    client: Named;
    form: FormView;
    groups: FieldGroup[];
    changed?: boolean;
    /** A change of this client is pending: its approval replaces what is saved here. */
    waits?: boolean;
  };
  /** Asks which secrets to replace, and shows the new ones once. */
  'console-client-secrets': ConsoleFrame &
    Named & {
      form?: FormView;
      secrets: ('client_secret' | 'shared_secret' | 'registration_access_token')[];
      /** Whether its secret is that of the proxy of a protected site. */
      ofSite?: boolean;
      problem?: 'nothing' | 'changed';
      /** Shown once. */
      shown?: {
        name: 'client_id' | 'issuer' | 'client_secret' | 'proxy_secret' | 'shared_secret' | 'registration_access_token';
        value: string;
      }[];
    };
  /** Says what disabling or deleting a client ends. Deleting asks for its name, posted as `typed`. */
  'console-client-end': ConsoleFrame &
    Named & {
      operation: 'disable' | 'delete';
      form: FormView;
      /** Users who are signed in to the client. `more`: there are more than were counted. */
      users: { count: number; more: boolean };
      figures: { name: 'sessions' | 'accessTokens' | 'refreshTokens' | 'grants' | 'settings'; count: number }[];
      most: number;
      /** Set for an operation that asks for the name. */
      typed?: string;
      problem?: 'name';
    };
}
