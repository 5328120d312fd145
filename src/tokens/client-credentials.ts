// Makes a client's credentials, which are stored hashed or encrypted and shown once (security R26, R40, R70).
import type { SecretBox } from '../crypto/secret-box.ts';
import { associatedDataOf } from '../repositories/keys/sealed-values.ts';
import { digest, randomSecret } from '../crypto/secrets.ts';
import { type ClientMetadata, needsSecret, needsSecretAsKey } from '../oauth/client-metadata.ts';
import { conflict, invalidRequest } from '../oauth/errors.ts';
import type { Client, ClientCredentials } from '../repositories/clients/clients.ts';
import { newOpaqueToken } from './opaque-token.ts';

/** The credentials that a client gets once, in the clear. */
export interface ShownCredentials {
  clientSecret: string | undefined;
  sharedSecret: string | undefined;
  registrationAccessToken: string | undefined;
}

/**
 * Makes a client's credentials: the values to store and the values to show.
 * @param given the secret that an administrator gives
 */
export function newCredentials(
  secretBox: SecretBox,
  clientId: string,
  metadata: ClientMetadata,
  given?: string,
): { stored: ClientCredentials; shown: ShownCredentials } {
  const clientSecret = needsSecret(metadata) ? (given ?? randomSecret()) : undefined;
  const sharedSecret = randomSecret();
  const registrationAccessToken = newOpaqueToken('registration_access_token');
  return {
    stored: {
      ...storedSecret(secretBox, clientId, metadata, clientSecret),
      sharedSecretEncrypted: secretBox.seal(
        sharedSecret,
        associatedDataOf('clients.shared_secret_encrypted', clientId),
      ),
      registrationTokenHash: registrationAccessToken.hash,
    },
    shown: { clientSecret, sharedSecret, registrationAccessToken: registrationAccessToken.token },
  };
}

/** Credentials by their names in answers. A protected site shows the secret of its proxy, and clients of other kinds than OAuth have no others. */
export const namedCredentials = (
  { kind }: Pick<Client, 'kind'>,
  { clientSecret, sharedSecret, registrationAccessToken }: Partial<ShownCredentials>,
) =>
  kind === 'oauth'
    ? {
        client_secret: clientSecret,
        shared_secret: sharedSecret,
        registration_access_token: registrationAccessToken,
      }
    : { [kind === 'proxy' ? 'proxy_secret' : 'client_secret']: clientSecret };

/** The secrets of a client, by their names on the wire. */
export const clientSecrets = ['client_secret', 'shared_secret', 'registration_access_token'] as const;
export type ClientSecret = (typeof clientSecrets)[number];

/** The secrets that a client has. It has none before it collected its credentials. */
export function secretsOf(client: Pick<Client, 'kind' | 'metadata' | 'uncollected' | 'origin'>): ClientSecret[] {
  // a client that is known by its document has none either
  if (client.uncollected || client.origin === 'document') return [];
  return clientSecrets.filter((secret) =>
    // the others are for the endpoints of OAuth
    secret === 'client_secret' ? needsSecret(client.metadata) : client.kind === 'oauth',
  );
}

/**
 * Makes new secrets that replace those of a client.
 * @param wanted the secrets to replace; undefined for all
 * @throws OAuthError invalid_request for a secret that the client does not have, conflict before it collected its credentials
 */
export function renewedSecrets(
  secretBox: SecretBox,
  client: Client,
  wanted?: readonly ClientSecret[],
): { credentials: Partial<ClientCredentials>; shown: Partial<ShownCredentials> } {
  const had = secretsOf(client);
  if (client.uncollected) throw conflict('the client has no secrets until it collects its credentials');
  if (client.origin === 'document') throw conflict('this client has no secrets: it is known by its document');
  const foreign = wanted?.find((secret) => !had.includes(secret));
  if (foreign !== undefined) throw invalidRequest(`this client has no ${foreign}`);
  const renewed = wanted ?? had;
  const demanding = demandingMetadata(client.metadata, client.pendingMetadata);
  const { stored, shown } = newCredentials(secretBox, client.clientId, demanding);
  const credentials: Partial<ClientCredentials> = {};
  const shownOnce: Partial<ShownCredentials> = {};
  if (renewed.includes('client_secret')) {
    credentials.secretHash = stored.secretHash;
    credentials.secretEncrypted = stored.secretEncrypted;
    shownOnce.clientSecret = shown.clientSecret;
  }
  if (renewed.includes('shared_secret')) {
    credentials.sharedSecretEncrypted = stored.sharedSecretEncrypted;
    shownOnce.sharedSecret = shown.sharedSecret;
  }
  if (renewed.includes('registration_access_token')) {
    credentials.registrationTokenHash = stored.registrationTokenHash;
    shownOnce.registrationAccessToken = shown.registrationAccessToken;
  }
  return { credentials, shown: shownOnce };
}

/** The metadata that a new secret must serve: that in force, and that which waits for approval. */
export function demandingMetadata(inForce: ClientMetadata, waiting: ClientMetadata | undefined): ClientMetadata {
  return waiting && (needsSecretAsKey(waiting) || !needsSecret(inForce)) ? waiting : inForce;
}

/**
 * Makes the secret that a change of metadata requires, if any: a new one where the client has none, or where its secret is stored as a
 * hash only but must serve as a key. A secret that the client has just presented can become the key. A secret made for a waiting change,
 * or left by an earlier method, does not count as the client's (security R116). A weak secret is never a key (delivery 2).
 */
export function secretFor(
  secretBox: SecretBox,
  client: Pick<Client, 'clientId' | 'metadata' | 'secretHash' | 'secretEncrypted' | 'weakSecret'>,
  metadata: ClientMetadata,
  presented?: string,
):
  | { credentials: Pick<ClientCredentials, 'secretHash' | 'secretEncrypted'>; newSecret: string | undefined }
  | undefined {
  const has = needsSecret(client.metadata) && client.secretHash !== undefined;
  const lacksKey = needsSecretAsKey(metadata) && !client.secretEncrypted;
  if (!needsSecret(metadata) || (has && !lacksKey)) return undefined;
  const proven = client.weakSecret ? undefined : presented;
  const secret = proven ?? randomSecret();
  return {
    credentials: storedSecret(secretBox, client.clientId, metadata, secret),
    newSecret: proven === undefined ? secret : undefined,
  };
}

/** The stored form of a client secret: its hash, and its encrypted value where it serves as a key. */
export function storedSecret(
  secretBox: SecretBox,
  clientId: string,
  metadata: ClientMetadata,
  secret: string | undefined,
): Pick<ClientCredentials, 'secretHash' | 'secretEncrypted'> {
  return {
    secretHash: secret === undefined ? undefined : digest('client_secret', secret),
    secretEncrypted:
      secret !== undefined && needsSecretAsKey(metadata)
        ? secretBox.seal(secret, associatedDataOf('clients.client_secret_encrypted', clientId))
        : undefined,
  };
}
