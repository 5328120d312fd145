// A client's credentials: made by the service, stored (hashed or sealed), and shown once (security R26, R40, R70).
import type { SecretBox } from '../crypto/secret-box.ts';
import { digest, randomSecret } from '../crypto/secrets.ts';
import { type ClientMetadata, needsSecret, needsSecretAsKey } from '../oauth/client-metadata.ts';
import type { ClientCredentials } from '../repositories/clients.ts';
import { newOpaqueToken } from './opaque-token.ts';
import { secretPlace, sharedSecretPlace } from './token-service.ts';

/** Credentials as their holder gets them, once. */
export interface ShownCredentials {
  clientSecret: string | undefined;
  sharedSecret: string | undefined;
  registrationAccessToken: string | undefined;
}

/** New credentials for a client: what is stored and what is shown. */
export function newCredentials(
  secretBox: SecretBox,
  clientId: string,
  metadata: ClientMetadata,
): { stored: ClientCredentials; shown: ShownCredentials } {
  const clientSecret = needsSecret(metadata) ? randomSecret() : undefined;
  const sharedSecret = randomSecret();
  const registrationAccessToken = newOpaqueToken('registration_access_token');
  return {
    stored: {
      ...storedSecret(secretBox, clientId, metadata, clientSecret),
      sharedSecretEncrypted: secretBox.seal(sharedSecret, sharedSecretPlace(clientId)),
      registrationTokenHash: registrationAccessToken.hash,
    },
    shown: { clientSecret, sharedSecret, registrationAccessToken: registrationAccessToken.token },
  };
}

/**
 * What becomes of a client's secret when its metadata changes: nothing, or a new one where it has none or where the one
 * it has was stored as a hash only and must become a key; the secret that the client has just proven can become one.
 */
export function secretFor(
  secretBox: SecretBox,
  client: { clientId: string; secretHash: Buffer | undefined; secretEncrypted: Buffer | undefined },
  metadata: ClientMetadata,
  proven?: string,
):
  | { credentials: Pick<ClientCredentials, 'secretHash' | 'secretEncrypted'>; newSecret: string | undefined }
  | undefined {
  const lacksKey = needsSecretAsKey(metadata) && !client.secretEncrypted;
  if (!needsSecret(metadata) || (client.secretHash && !lacksKey)) return undefined;
  const secret = proven ?? randomSecret();
  return {
    credentials: storedSecret(secretBox, client.clientId, metadata, secret),
    newSecret: proven === undefined ? secret : undefined,
  };
}

/** How a client secret is stored: its hash, and encrypted where it serves as a key. */
export function storedSecret(
  secretBox: SecretBox,
  clientId: string,
  metadata: ClientMetadata,
  secret: string | undefined,
): Pick<ClientCredentials, 'secretHash' | 'secretEncrypted'> {
  return {
    secretHash: secret === undefined ? undefined : digest('client_secret', secret),
    secretEncrypted:
      secret !== undefined && needsSecretAsKey(metadata) ? secretBox.seal(secret, secretPlace(clientId)) : undefined,
  };
}
