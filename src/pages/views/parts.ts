// Declares what several pages share.
//
// Every path (`action`, and each value of a name in `…Uri` that begins with "/") is relative to the base address: the renderer puts the
// base path before it.

import type { FieldKind } from '../../entities/field.ts';
import type { Localized } from '../../oauth/localized-metadata.ts';
import type { RefusalCode } from '../../oauth/refusals.ts';

/** The client as users see it: untrusted text, and URLs that registration has validated. */
export interface ClientView {
  clientId: string;
  /** The client_name, or the client_id when it registered none; the host of its document if it is known by one. */
  name: string;
  /** The path of the logo that an administrator uploaded. */
  logo?: string;
  /** The registered logo_uri, where none was uploaded. */
  logoUri?: string;
  policyUri?: string;
  tosUri?: string;
  /** The registered client_uri: the address of the application. */
  homeUri?: string;
  /** Its name and addresses in further languages, by language tag. A page has those of its language in their place. */
  localized?: Localized;
  /** Host of the redirect URI in use, e.g. "shop.example". */
  host: string;
  /** True when no administrator has reviewed this registration (REGISTRATION_APPROVAL=automatic). */
  selfRegistered: boolean;
  /** Set if the client is known by its document: `name` is then the host of the document. */
  document?: {
    /** The client_name. */
    claimedName?: string;
    /** Whether each redirect URI is on the user's own computer, where any program could pretend to be the client. */
    onlyLoopback: boolean;
  };
}

/** A claim as users read it: its text, the date for a time, and the value of a boolean. Untrusted text. */
export interface ClaimText {
  claim: string;
  /** Empty where there is no value. */
  value: string;
  day?: Date;
  flag?: boolean;
}

/** An API that tokens are for, with the scopes of it that are shown. Untrusted text. */
export interface ApiView {
  name: string;
  /** The host of its URI, or the URI. */
  host: string;
  /** Each with its descriptions by language. */
  scopes: { scope: string; description: Record<string, string> }[];
}

/** An authorization detail: a sentence, and every member in full. Untrusted text. */
export interface DetailView {
  type: string;
  /** The sentence by language; {path} stands for a value. */
  text: Record<string, string>;
  /** The values that the sentence can name, by their paths. */
  values: Record<string, string>;
  members: { path: string; value: string }[];
  /** The name of the field by which the user takes it out; absent if it is allowed with the rest or not at all. */
  keep?: string;
}

/** What stands for a user or a client, with its name. Untrusted text. */
export interface FaceView {
  /** Decides the colour where there is no picture. */
  id: string;
  name: string;
  /** The path of the uploaded picture or logo. */
  image?: string | undefined;
}

export interface AccountView {
  /** Absent where the page may not say whose account it is. */
  sub?: string;
  /** The path of the uploaded picture. */
  picture?: string;
  username: string;
  /** The display name, when one is known. */
  name?: string;
  /** Whether the user has no password: then no page speaks of one, where the catalogue has a text `….passwordless`. */
  passwordless?: true;
}

/** A link of the language menu, which a page shows in its footer. */
export interface LanguageLink {
  /** BCP 47. */
  tag: string;
  /** In the language itself. */
  name: string;
  uri: string;
}

/** Set by the answer, on pages that offer other languages. */
export interface Footer {
  languages?: LanguageLink[];
  /** On a page that no link opens again: posts `locale`, and the page is shown again. */
  languageForm?: FormView;
}

/** The data of a mail beside its sentences: untrusted text, except the link. */
export interface MailContent {
  /** The parameters of the sentences. */
  values?: Record<string, string>;
  facts?: { browser?: string; system?: string; at?: Date; address?: string; names?: string[]; reason?: string };
  /** The address that its button opens. */
  link?: string;
  /** The code that the user types. */
  code?: string;
  /** The lifetime of the link or the code, in seconds. */
  lifetime?: number;
}

/** A form, with the hidden fields that every form carries: the anti-forgery token, and the pending authorization request if any. */
export interface FormView {
  /** Path and query that the form posts to, e.g. "/login". */
  action: string;
  /** Name/value pairs of hidden inputs; always holds `csrf`, and `transaction` where a request is pending. */
  hidden: Record<string, string>;
}

/** For each page an example of the least and of the most data that it can show. */
export type Examples<Views> = { [N in keyof Views]: [least: Views[N], most: Views[N]] };

/** What is wrong with a field: a key of the catalogue under `console.refused.`, unless the form has a sentence of its own. */
export interface FaultView {
  code: RefusalCode;
  /** What the sentence names. Untrusted text. */
  params?: Readonly<Record<string, string>> | undefined;
}

/** Why a form was refused: its sentence is at the field, or at the top of the page if the form has no field for the member. */
export interface RefusedView extends FaultView {
  field?: string;
  /** The path of the member, such as `settings.token_endpoint`. */
  member: string;
  /** Whether the sentence of the code needs no member before it. */
  whole: boolean;
  /** What else is refused: its sentence is at its field. */
  others?: readonly RefusedView[];
}

/** A field of a form. Its words are those of its name: the label, and if there are any `.hint`, `.choice.VALUE` and `.refused`. */
export interface FieldView {
  /** The id and the name of the control. */
  name: string;
  kind: FieldKind;
  value: string;
  choices?: readonly string[] | undefined;
  required?: boolean | undefined;
  most?: number | undefined;
  lines?: number | undefined;
  list?: string | undefined;
  writing?: 'auto' | 'ltr' | undefined;
  group?: string | undefined;
  /** Whether the page only shows the value. */
  fixed?: boolean | undefined;
  /** What exists, for a field that names one: the value, and what administrators call it. Untrusted text. */
  picks?: string | undefined;
  fault?: FaultView | undefined;
  /** The name whose words it has, and that whose hint, if it is not its own. */
  words?: string;
  hint?: string;
  /** The names of choices that are the same in each language. */
  names?: Readonly<Record<string, string>>;
}

/** Fields under one heading. */
export interface FieldGroup {
  name: string;
  fields: FieldView[];
}
