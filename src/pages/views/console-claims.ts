// Declares what the console's page about the claims of a client shows.
import type { ConsoleFrame } from './console.ts';
import type { RuleListView } from './console-rules.ts';
import type { FormView, RefusedView } from './parts.ts';

export interface ConsoleClaimsPages {
  /** Posts `act`, with the fields of each form; a GET with `user` shows a preview. */
  'console-client-claims': ConsoleFrame & {
    name: string;
    clientUri: string;
    form: FormView;
    /** The console's own client, which cannot be changed. */
    own: boolean;
    roles: {
      name: string;
      description: string;
      groups: string[];
      users: number;
      holders: { sub: string; username: string; uri: string }[];
    }[];
    /** The scopes of the operator, and whether the client has each. */
    scopes: { name: string; text: Record<string, string>; claims: string[]; given: boolean }[];
    rules: RuleListView[];
    /** What a refused form shows again. */
    typed: Readonly<Record<string, string>>;
    /** The field is the id of a control: the page has some of each kind. */
    refused?: RefusedView;
    /** The claims of a user, each as JSON; a fault if the text names no user, or more than one. */
    preview?: {
      typed: string;
      fault?: 'unknown' | 'several';
      username?: string;
      idToken?: string;
      userinfo?: string;
      introspection?: string;
      /** The attributes of a SAML application, which gets nothing else. */
      saml?: string;
      groupsOmitted?: boolean;
    };
  };
}
