// Declares what the pages show by which a user decides about a device.
import type { AccountView, ApiView, ClaimText, ClientView, DetailView, FormView, LanguageLink } from './parts.ts';

export interface DevicePages {
  /** Asks for the code that a device shows. */
  'device-code': {
    account: AccountView;
    /** The address that the form requests, by GET: looking changes nothing. */
    action: string;
    typed?: string;
    /** `unmet` if the application demands a sign-in that the user’s factors do not reach. */
    problem?: 'unknown' | 'throttled' | 'tampered' | 'unmet';
    /** With `throttled`: seconds until the next try. */
    wait?: number;
    languages?: LanguageLink[];
  };
  /** Shows what the application of a device asks for, and where and when it asked. */
  'device-review': {
    /** `host` is empty if the client registered no address. */
    client: ClientView;
    account: AccountView;
    /** The user compares it with the code that the device shows. */
    userCode: string;
    /** The requested scopes, each with the claims that it would release. */
    /** `text` has the words of a scope of the operator, by language. */
    scopes: { scope: string; claims: ClaimText[]; text?: Record<string, string> }[];
    /** The APIs with the requested scopes of each. */
    apis: ApiView[];
    /** The authorization details that it asks for, each in full. */
    details?: DetailView[];
    requestedAt: Date;
    /** The network of the device, an IPv4 /24 or an IPv6 /64; absent if it is not known. */
    network?: string;
    /** Whether the browser is in the same network. */
    isSameNetwork: boolean;
    form: FormView;
    /** The page on which the user chooses another account, and which returns to this page. */
    switchAccountUri: string;
    languages?: LanguageLink[];
  };
  /** Confirms the decision. */
  'device-decided': { client: ClientView; approved: boolean; accountUri: string };
}
