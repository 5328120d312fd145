// Declares what the pages show by which an administrator decides about a registration.
import type { ReviewFacts } from './console-clients.ts';
import type { AccountView, FormView } from './parts.ts';

/** A registration as an administrator reviews it: all of it is untrusted text. */
export interface RegistrationFacts {
  name: string;
  /** Hosts of the redirect URIs, or schemes of a native application, with other clients' use of them. */
  hosts: ReviewFacts['hosts'];
  /** Enabled clients whose names look like this one. */
  lookAlikes: ReviewFacts['lookAlikes'];
  /** Claimed resources that other clients hold. */
  heldResources: ReviewFacts['heldResources'];
  redirectUris: string[];
  /** Addresses that wait for a second decision. */
  waitingAddresses: string[];
  responseTypes: string[];
  grantTypes: string[];
  scopes: string[];
  /** The token_endpoint_auth_method. */
  authenticationMethod: string;
  /** Type, algorithm and name of each registered key. */
  keys: string[];
  umaProfile: boolean;
  contacts: string[];
  uris: { member: 'client_uri' | 'policy_uri' | 'tos_uri' | 'logo_uri' | 'jwks_uri'; uri: string }[];
  registeredAt: Date;
  /** The address that registered it, if known. */
  address?: string;
  /** Every member of the effective metadata. */
  members: { member: string; value: string }[];
}

export interface RegistrationPages {
  /** Asks an administrator for the verification code of a pending registration. */
  'registration-code': {
    account: AccountView;
    /** The address that the form requests, by GET: looking changes nothing. */
    action: string;
    typed?: string;
    problem?: 'unknown' | 'throttled' | 'tampered';
    /** With `throttled`: seconds until the next try. */
    wait?: number;
  };
  /** Shows a registration, and decides about it. */
  'registration-review': RegistrationFacts & {
    account: AccountView;
    /** The administrator compares it with the code that the application shows. */
    verificationCode: string;
    form: FormView;
    problem?: 'changed' | 'held';
  };
  /** Confirms the decision. */
  'registration-decided': { approved: boolean; name: string; reason?: string; nextUri: string; accountUri: string };
}
