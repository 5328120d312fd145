// Lists the values that clients register as grant types and authentication methods; scopes are in scope.ts.
import { z } from 'zod';

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

/** The same for client authentication: `registration.method.…`, and src/client-authentication. */
export const clientAuthenticationMethods: string[] = [
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
  'none',
];

/** One value of a list, which JSON Schema names. */
export const oneOf = (values: readonly string[], refusal: { error: string }) =>
  z
    .string(refusal)
    .refine((value) => values.includes(value), refusal)
    .meta({ enum: values });
