// Authenticates clients by client_secret_basic and client_secret_post, which count as one method (RFC 6749 section 2.3.1, security R37).
import { digest, equalDigests } from '../crypto/secrets.ts';
import { invalidClient, invalidRequest } from '../oauth/errors.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { ClientAuthenticationMethod, Credentials } from './method.ts';

const names = ['client_secret_basic', 'client_secret_post'];
const accepts = (registered: string) => names.includes(registered);

export const clientSecretBasic: ClientAuthenticationMethod = {
  name: 'client_secret_basic',
  accepts,
  carrier: { header: 'authorization' },
  read({ headers, parameters }) {
    const basic = readBasic(headers.authorization ?? '');
    if (parameters['client_id'] !== undefined && parameters['client_id'] !== basic.clientId) {
      throw invalidRequest('client_id differs from the client of the Authorization header');
    }
    return secretCredentials(basic);
  },
};

export const clientSecretPost: ClientAuthenticationMethod = {
  name: 'client_secret_post',
  accepts,
  carrier: { parameters: ['client_secret'] },
  read({ parameters: { client_id: clientId, client_secret: secret = '' } }) {
    if (clientId === undefined) throw invalidClient('no credentials');
    return secretCredentials({ clientId, secret });
  },
};

function secretCredentials({ clientId, secret }: { clientId: string; secret: string }): Credentials {
  let compared: Client | undefined;
  return {
    clientId,
    isCostly: false,
    suits(cached) {
      if (!accepts(cached.metadata.token_endpoint_auth_method) || !isSecret(cached, secret)) return false;
      compared = cached;
      return true;
    },
    verify(client) {
      // a secret that was compared with the cached client is not hashed again
      if (client !== compared) verifySecret(client, secret);
    },
  };
}

/**
 * A secret that was made for a change that waits proves nothing before its approval (security R116).
 * @throws OAuthError invalid_client
 */
export function verifySecret(client: Client | undefined, secret: string): Client {
  if (!client || !client.rules.hasSecret || !isSecret(client, secret)) throw invalidClient('wrong client secret');
  return client;
}

function isSecret({ secretHash }: Client, secret: string): boolean {
  return secretHash !== undefined && equalDigests(digest('client_secret', secret), secretHash);
}

/**
 * Client id and secret of a Basic header: strict base64, then form-decoded (RFC 6749 section 2.3.1, security R38).
 * @throws OAuthError invalid_client
 */
export function readBasic(header: string): { clientId: string; secret: string } {
  const match = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header);
  if (!match) throw invalidClient('not a Basic header');
  const bytes = Buffer.from(match[1]!, 'base64');
  if (bytes.toString('base64') !== match[1]) throw invalidClient('not strict base64');
  const pair = bytes.toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 1 || /[\x00-\x1f\x7f\ufeff\ufffd]/.test(pair)) throw invalidClient('not a pair of client id and secret');
  let credentials: { clientId: string; secret: string };
  try {
    credentials = { clientId: formDecode(pair.slice(0, colon)), secret: formDecode(pair.slice(colon + 1)) };
  } catch {
    throw invalidClient('not form-encoded');
  }
  if (/[\x00-\x1f\x7f]/.test(credentials.clientId + credentials.secret)) throw invalidClient('control characters');
  return credentials;
}

function formDecode(value: string): string {
  return /[%+]/.test(value) ? decodeURIComponent(value.replaceAll('+', ' ')) : value;
}
