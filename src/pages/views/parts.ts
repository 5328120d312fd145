// Declares what several pages share.
//
// Every path here (`action` and whatever ends in `Uri` and begins with "/") hangs below the base address: the renderer puts the base
// address's own path before it.

/** The client as a person sees it: everything here is untrusted text or a URL that registration has validated. */
export interface ClientView {
  clientId: string;
  /** The client_name, or the client_id when it registered none. */
  name: string;
  logoUri?: string;
  policyUri?: string;
  tosUri?: string;
  /** The client_uri that it registered: where a person finds the application again. */
  homeUri?: string;
  /** Host of the redirect URI in use, e.g. "shop.example". */
  host: string;
  /** True when no administrator has looked at this registration (REGISTRATION_APPROVAL=automatic). */
  selfRegistered: boolean;
}

/** A claim as a person reads it: its text, its day if it is one, and for a boolean whether it is true. Untrusted text. */
export interface ClaimText {
  claim: string;
  /** Empty where there is no value. */
  value: string;
  day?: Date;
  flag?: boolean;
}

export interface AccountView {
  username: string;
  /** The display name, when one is known. */
  name?: string;
}

/** What a mail says beside its sentences; all of it untrusted text but the link. */
export interface MailContent {
  /** What is filled into the sentences. */
  values?: Record<string, string>;
  facts?: { browser?: string; system?: string; at?: Date; address?: string; names?: string[]; reason?: string };
  /** Where its button leads. */
  link?: string;
  /** Seconds that the link is good for. */
  lifetime?: number;
}

/** Hidden fields that every form carries: the pending authorization request (if any) and the anti-forgery token. */
export interface FormView {
  /** Path and query that the form posts to, e.g. "/login". */
  action: string;
  /** Name/value pairs of hidden inputs; always holds `csrf`, and `transaction` where a request is pending. */
  hidden: Record<string, string>;
}

/** For each page an example of the least and of the most data that it can show. */
export type Examples<Views> = { [N in keyof Views]: [least: Views[N], most: Views[N]] };
