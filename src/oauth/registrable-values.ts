// Lists the values that clients register as grant types and authentication methods; scopes are in scope.ts.
import { z } from 'zod';
import { type Refusal, refusal } from './refusals.ts';

/** The name of the device authorization grant (RFC 8628 section 3.4). */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/**
 * Each value is one line here, and its words in every language (`registration.grant.…` in templates/messages). Discovery, registration,
 * the console and the approval page read this list. What serves a value is in protocol/token/grants; `implicit` has no token request.
 */
export const grantTypes: string[] = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  deviceGrant,
  'implicit',
];

/** A method by which clients authenticate, as registrations know it. src/client-authentication serves it. */
export interface AuthenticationMethod {
  readonly name: string;
  /** What a client that uses it proves. A client that proves nothing is public. */
  readonly proves: 'nothing' | 'shared secret' | 'own key';
  /** Where it needs a client_secret: in the requests, so that its hash is enough, or as the key of a signature. */
  readonly needsSecret?: 'in requests' | 'as key';
  /** Whether it needs the public keys of the client: `jwks` or `jwks_uri`. */
  readonly needsKeys?: true;
  /** The metadata members that it reads, each with its rule. */
  readonly members?: Readonly<Record<string, (value: unknown, member: string) => Refusal | undefined>>;
}

/** One value for each method, and its words `registration.method.…` in every language. */
export const clientAuthenticationMethods: AuthenticationMethod[] = [
  { name: 'client_secret_basic', proves: 'shared secret', needsSecret: 'in requests' },
  { name: 'client_secret_post', proves: 'shared secret', needsSecret: 'in requests' },
  {
    name: 'client_secret_jwt',
    proves: 'shared secret',
    needsSecret: 'as key',
    members: {
      token_endpoint_auth_signing_alg: (alg, member) =>
        alg !== undefined && alg !== 'HS256' ? refusal('algorithm.symmetric', member) : undefined,
    },
  },
  {
    name: 'private_key_jwt',
    proves: 'own key',
    needsKeys: true,
    members: {
      token_endpoint_auth_signing_alg: (alg, member) =>
        alg === 'HS256' ? refusal('algorithm.asymmetric', member) : undefined,
    },
  },
  { name: 'none', proves: 'nothing' },
];

/** A method that this version does not know is no public one, and no client authenticates by it. */
export const methodOf = (name: string): AuthenticationMethod =>
  clientAuthenticationMethods.find((method) => method.name === name) ?? { name, proves: 'shared secret' };

/** The methods without a client_secret: it is removed from a client that is registered for one of them. */
export const methodsWithoutSecret = (): string[] =>
  clientAuthenticationMethods.filter(({ needsSecret }) => needsSecret === undefined).map(({ name }) => name);

type Named = string | { readonly name: string };
const nameOf = (value: Named): string => (typeof value === 'string' ? value : value.name);

/** One value of a list, which JSON Schema names. */
export const oneOf = (values: readonly Named[], refusal: { error: string }) =>
  z
    .string(refusal)
    .refine((value) => values.some((each) => nameOf(each) === value), refusal)
    .meta({ enum: values.map(nameOf) });

/** The names of a list as an English sentence has them. */
export const inWords = (values: readonly Named[], type: 'conjunction' | 'disjunction'): string =>
  new Intl.ListFormat('en-GB', { type }).format(values.map(nameOf));
