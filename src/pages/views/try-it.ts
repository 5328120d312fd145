// The console's pages that try a client: a real code flow, step by step. What each shows, and examples.
import { type ConsoleFrame, consoleFrame } from './console.ts';
import { type Examples, type FormView, form } from './parts.ts';

/** One parameter of a request or an answer; where the catalogue has `console.try.parameter.` with its name, that explains it. */
export interface TryParameter {
  name: string;
  value: string;
  /** Shown only when asked for. */
  secret?: boolean;
}

/** One request of the flow and what came back: keys of the catalogue under `console.try.step.`. */
export interface TryStep {
  name: 'authorization' | 'callback' | 'token' | 'userinfo' | 'introspection' | 'refresh' | 'revocation';
  method: 'GET' | 'POST';
  uri: string;
  parameters: TryParameter[];
  /** Of the answer, where this side saw it. */
  status?: number;
  answer?: TryParameter[];
}

/** A claim of the ID Token, and what its check says: keys of the catalogue under `console.try.check.`. */
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
    /** Absent: none is chosen, or there is none of this name. */
    client?: { name: string; enabled: boolean; reachable: boolean };
    /** Adds the callback to the client's redirect URIs, or takes it away: posts `client_id` and `change`. */
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
    /** The client proves itself by a key that only it has. */
    ownKey?: boolean;
    againUri: string;
  };
}

const values = { scope: '', prompt: '', maxAge: '', acrValues: '', claims: '', loginHint: '' };
const frame: ConsoleFrame = { ...consoleFrame, section: 'try-it' };
const begin = { action: '/admin/try-it', callbackUri: 'https://id.example/admin/try-it/callback' };

export const tryItExamples: Examples<TryItPages> = {
  'console-try-it': [
    { ...frame, account: { username: 'a' }, ...begin, clientId: '', values },
    {
      ...frame,
      ...begin,
      clientId: 'harbour',
      client: { name: 'Harbour', enabled: true, reachable: true },
      form: form('/admin/try-it/begin'),
      redirectForm: form('/admin/try-it/redirect-uri'),
      values: { ...values, scope: 'openid profile email', prompt: 'consent', maxAge: '60' },
    },
  ],
  'console-try-it-result': [
    { ...frame, clientName: '', outcome: 'failed', steps: [], againUri: '/admin/try-it' },
    {
      ...frame,
      clientName: 'Harbour',
      outcome: 'done',
      steps: [
        {
          name: 'authorization',
          method: 'GET',
          uri: 'https://id.example/authorize',
          parameters: [
            { name: 'response_type', value: 'code' },
            { name: 'scope', value: 'openid profile' },
            { name: 'state', value: 'n-0S6_WzA2Mj' },
          ],
        },
        {
          name: 'token',
          method: 'POST',
          uri: 'https://id.example/token',
          parameters: [
            { name: 'grant_type', value: 'authorization_code' },
            { name: 'code', value: 'gh_SplxlOBeZQQYbYS6WxSbIA', secret: true },
          ],
          status: 200,
          answer: [
            { name: 'access_token', value: 'gh_SlAV32hkKG', secret: true },
            { name: 'expires_in', value: '600' },
          ],
        },
      ],
      idToken: {
        encrypted: false,
        claims: [
          { claim: 'alg', value: 'EdDSA', check: 'signature', good: true },
          { claim: 'iss', value: 'https://id.example', check: 'iss', good: true },
          { claim: 'nonce', value: 'n-0S6_WzA2Mj', check: 'nonce', good: false },
          { claim: 'name', value: 'Ada Lovelace' },
        ],
      },
      againUri: '/admin/try-it?client_id=harbour',
    },
  ],
};
