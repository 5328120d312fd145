// Declares what the console's "Try it" pages show, which run a real code flow for a client.
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

/** One parameter of a request or a response; the catalogue may explain it under `console.try.parameter.` and its name. */
export interface TryParameter {
  name: string;
  value: string;
  /** Hidden until the administrator reveals it. */
  secret?: boolean;
}

/** One request of the flow with its response: keys of the catalogue under `console.try.step.`. */
export interface TryStep {
  name: 'authorization' | 'callback' | 'token' | 'userinfo' | 'introspection' | 'refresh' | 'revocation';
  method: 'GET' | 'POST';
  uri: string;
  parameters: TryParameter[];
  /** The status of the response, if the service received it. */
  status?: number;
  answer?: TryParameter[];
}

/** A claim of the ID Token with the outcome of its check: keys of the catalogue under `console.try.check.`. */
export interface TryClaim {
  claim: string;
  value: string;
  check?: 'signature' | 'iss' | 'aud' | 'exp' | 'iat' | 'nonce' | 'at_hash' | 'auth_time' | 'acr';
  good?: boolean;
}

export interface TryItPages {
  'console-try-it': ConsoleFrame & {
    /** GET with `client_id`. */
    action: string;
    clientId: string;
    callbackUri: string;
    /** Absent when none is chosen, or when the chosen one does not exist. */
    client?: { name: string; enabled: boolean; reachable: boolean };
    /** Adds the callback to the client's redirect URIs, or removes it: posts `client_id` and `change`. */
    redirectForm?: FormView;
    /** Begins the flow. */
    form?: FormView;
    values: { scope: string; prompt: string; maxAge: string; acrValues: string; claims: string; loginHint: string };
    fault?: 'client' | 'expired';
  };
  'console-try-it-result': ConsoleFrame & {
    clientName: string;
    outcome: 'waiting' | 'done' | 'failed';
    steps: TryStep[];
    idToken?: { encrypted: boolean; claims: TryClaim[] };
    /** Redeems the code: posts `client_secret`. */
    form?: FormView;
    /** The client authenticates with its private key. */
    ownKey?: boolean;
    againUri: string;
  };
}
