// Checks a client_id and a client secret that an administrator gives, from a system where the client had them before (delivery 2).
import { z } from 'zod';
import { type ClientMetadata, needsSecret, needsSecretAsKey } from '../../oauth/client-metadata.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal, rule } from '../../oauth/refusals.ts';
import { email } from '../users/administration.ts';

/** Visible ASCII (RFC 6749 A.1, without space), that names neither a document, nor a user, nor a folder of a path. */
export const givenClientId = z
  .string(rule('string'))
  .refine(
    (id) =>
      /^[!-~]{1,255}$/.test(id) && !/^https:/i.test(id) && !['.', '..'].includes(id) && !email.safeParse(id).success,
    rule('client-id'),
  );

/** RFC 6749 A.2. */
const givenSecret = z.string(rule('string')).regex(/^[ -~]{1,512}$/, rule('client-secret'));

/** The members of the request that creates a client, and of an entry of a configuration file. */
export const givenCredentials = {
  client_id: givenClientId
    .optional()
    .describe(
      'The client_id that the client had before: up to 255 visible ASCII characters. By default the service creates one.',
    ),
  client_secret: givenSecret
    .optional()
    .meta({ writeOnly: true })
    .describe(
      'The secret that the client had before; a command reads it from a file. By default the service creates one.',
    ),
  weak_secret: z
    .boolean(rule('boolean'))
    .optional()
    .describe(
      'Accepts a secret with fewer than 32 characters or 128 bits, until it is renewed; not where the secret is a key.',
    ),
};

export interface GivenSecret {
  client_secret?: string | undefined;
  weak_secret?: boolean | undefined;
}

const least = { characters: 32, bits: 128 };
/** The alphabets of usual generators, with their numbers of characters, beginning with the smallest. */
const alphabets: readonly (readonly [RegExp, number])[] = [
  [/^[0-9]*$/, 10],
  [/^([0-9a-f]*|[0-9A-F]*)$/, 16],
  [/^([a-z]*|[A-Z]*)$/, 26],
  [/^([0-9a-z]*|[0-9A-Z]*)$/, 36],
  [/^[A-Za-z]*$/, 52],
  [/^[0-9A-Za-z]*$/, 62],
];
/** A generator hardly ever uses fewer different characters in a secret that is long enough: the text is then no random one. */
const leastDifferent = 8;

/** The bits of a random text of this length from this alphabet. */
function bitsOf(secret: string): number {
  const different = new Set(secret).size;
  const size = alphabets.find(([pattern]) => pattern.test(secret))?.[1] ?? 64;
  return secret.length * Math.log2(different < leastDifferent ? different : size);
}

export const isStrongSecret = (secret: string): boolean =>
  secret.length >= least.characters && bitsOf(secret) >= least.bits;

/**
 * Checks a given secret for the client that gets it.
 * @returns whether it is weak, and so marked until it is renewed
 * @throws OAuthError invalid_request
 */
export function checkGivenSecret(
  { client_secret: secret, weak_secret: accepted }: GivenSecret,
  metadata: ClientMetadata,
): boolean {
  if (secret === undefined) return false;
  if (!needsSecret(metadata)) throw invalidRequest(refusal('secret.none', 'client_secret'));
  if (isStrongSecret(secret)) return false;
  if (needsSecretAsKey(metadata)) throw invalidRequest(refusal('secret.weak-key', 'client_secret'));
  if (!accepted) throw invalidRequest(refusal('secret.weak', 'client_secret'));
  return true;
}
