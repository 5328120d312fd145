// Walks through one program that exchanges the tokens of users, and gets tokens by its certificate: both only while the service allows them.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { createCertificateFolder, send, type TestCertificate } from '../helpers/mtls.ts';
import { freePort } from '../helpers/server-process.ts';
import { pkce, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { type Party, startParty } from './party.ts';
import type { Provider } from './provider.ts';

/**
 * A program with TLS that answers with new tokens: at GET /exchanged for the bearer token of the request, and at GET /by-certificate for itself.
 * One that checks certificates serves GET /notes as other APIs do; one that requests details answers at GET /details with those that it got.
 */
export interface TokenParty extends Pick<Party, 'folder' | 'name' | 'command'> {
  fetch(): void;
  version(): string;
  /** Whether it is an API that takes bound tokens over a connection with their certificate only (RFC 8705 3). */
  checksCertificates: boolean;
  requestsDetails: boolean;
}

export type Certificates = Awaited<ReturnType<typeof createWalkCertificates>>;

/** Certificates of the service, of the programs and of their clients, and the settings with which the service takes them. */
export async function createWalkCertificates() {
  const folder = createCertificateFolder();
  makeCertificates(folder.folder);
  const at = (name: string) => join(folder.folder, name);
  const authority = folder.newAuthority();
  const port = String(await freePort());
  return {
    authority,
    servers: { ca: at('ca.pem'), certificate: at('server.pem'), key: at('server.key') },
    settings: {
      MTLS_BASE_URL: `https://localhost:${port}`,
      MTLS_PORT: port,
      TLS_CERT_FILE: at('server.pem'),
      TLS_KEY_FILE: at('server.key'),
      MTLS_CA_FILE: authority.file,
    },
    remove: folder.remove,
  };
}

const scope = 'notes.read';
const detailsType = 'walk_payment';

/** @throws the expectation that failed, with the output of the program */
export async function walkThroughTokens(
  party: TokenParty,
  provider: Provider,
  { authority, servers }: Certificates,
): Promise<void> {
  const { issuer, administer } = provider;
  const resource = `${provider.party.url}/${party.folder}`;
  const target = `${resource}/behind`;
  const create = async (path: string, body: object) =>
    (await administer('POST', path, body)) as Record<string, string | undefined>;
  const machine = { redirect_uris: [], response_types: [] };
  const gateway = await create('/clients', { ...machine, client_name: 'Gateway', grant_types: [tokenExchangeGrant] });
  const subject = `CN=${party.folder},O=Bank,C=DE`;
  const ledger = await create('/clients', {
    ...machine,
    client_name: 'Ledger',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'tls_client_auth',
    // another certificate, at first
    tls_client_auth_subject_dn: 'CN=other,O=Bank,C=DE',
    tls_client_certificate_bound_access_tokens: true,
    ...(party.requestsDetails && { authorization_details_types: [detailsType] }),
  });
  const redirectUri = `${provider.party.url}/callback`;
  const application = await create('/clients', { client_name: 'Application', redirect_uris: [redirectUri] });
  const api = { access_token_format: 'jwt', clients: 'approved', scopes: [{ value: scope }] };
  for (const uri of [resource, target])
    await create('/resources', {
      resource: uri,
      name: party.name,
      ...(uri === resource && { client_id: gateway['client_id'] }),
      ...api,
    });
  if (party.requestsDetails)
    await create('/authorization-details-types', {
      type: detailsType,
      schema: { type: 'object', required: ['amount'], properties: { amount: { type: 'string' } } },
      text: { en: 'Pay {amount}' },
      without_user: true,
    });
  const own = authority.sign({ subject: `/C=DE/O=Bank/CN=${party.folder}` });
  const other = authority.sign({ subject: '/C=DE/O=Bank/CN=elsewhere' });

  /** A token of a user for an API, by a whole code flow. */
  async function tokenOfUser(forApi: string): Promise<string> {
    const { code_verifier: verifier, ...asked } = pkce();
    const client = { clientId: application['client_id']!, redirectUri };
    const page = await new UserAgent({ issuer }).authorize(client, provider.person, {
      scope: `openid ${scope}`,
      resource: forApi,
      ...asked,
    });
    const basic = `Basic ${Buffer.from(`${client.clientId}:${application['client_secret']}`).toString('base64')}`;
    const { status, body } = await tokenRequest(
      issuer,
      { basic },
      {
        grant_type: 'authorization_code',
        code: new URL(page.location!).searchParams.get('code')!,
        redirect_uri: redirectUri,
        code_verifier: verifier,
      },
    );
    assert.equal(status, 200, JSON.stringify(body));
    return body['access_token'] as string;
  }

  const program = await startParty({ ...party, callback: '', refreshes: false }, provider.party.port, {
    ISSUER: issuer,
    CLIENT_ID: gateway['client_id']!,
    CLIENT_SECRET: gateway['client_secret']!,
    CERTIFICATE_CLIENT_ID: ledger['client_id']!,
    RESOURCE: resource,
    TARGET: target,
    DETAILS_TYPE: detailsType,
    SERVER_CERTIFICATE: servers.certificate,
    SERVER_KEY: servers.key,
    SERVERS_CA: servers.ca,
    CLIENT_CERTIFICATE: own.files.certificate,
    CLIENT_KEY: own.files.key,
    CLIENTS_CA: authority.file,
  });
  try {
    const ask = (path: string, token: string, certificate?: TestCertificate) =>
      send(`https://localhost:${provider.party.port}${path}`, {
        ca: servers.ca,
        token,
        ...(certificate && { certificate }),
      });
    const token = await tokenOfUser(resource);
    const { sub } = decodeJwt(token);
    const refuses = async (path: string, what: string, by = token) => {
      const { status, text } = await ask(path, by);
      assert.ok(status >= 400, `${what}: ${status} ${text}`);
    };
    const gives = async (path: string) => {
      const { status, text } = await ask(path, token);
      assert.equal(status, 200, `${path}: ${text}`);
      return JSON.parse(text) as Record<string, unknown>;
    };

    await refuses('/exchanged', 'an exchange without a policy');
    await create('/exchange-policies', {
      name: party.name,
      client_id: gateway['client_id'],
      subject_clients: [application['client_id']],
      resources: [target],
      scopes: [scope],
    });
    const exchanged = decodeJwt((await gives('/exchanged'))['token'] as string);
    const { aud, client_id: clientId, act } = exchanged;
    assert.deepEqual({ aud, sub: exchanged.sub, clientId }, { aud: target, sub, clientId: gateway['client_id'] });
    assert.equal((act as { client_id?: string }).client_id, gateway['client_id'], 'the gateway acts');
    await refuses('/exchanged', 'a token of the API behind', await tokenOfUser(target));

    await refuses('/by-certificate', 'a certificate with another subject');
    await administer('PATCH', `/clients/${ledger['client_id']}`, { tls_client_auth_subject_dn: subject });
    const bound = (await gives('/by-certificate'))['token'] as string;
    const claims = decodeJwt(bound);
    assert.deepEqual(claims['cnf'], { 'x5t#S256': own.x5t }, 'it is bound to the certificate');
    assert.equal(claims.aud, resource);

    if (party.requestsDetails) {
      const { details } = (await gives('/details')) as { details: Record<string, unknown>[] };
      assert.deepEqual(
        details.map(({ id, ...rest }) => [typeof id, rest]),
        [['string', { type: detailsType, amount: '12.50' }]],
      );
    }
    if (party.checksCertificates) {
      assert.equal((await ask('/notes', token)).status, 200, 'a token without a certificate');
      assert.equal((await ask('/notes', bound, own)).status, 200, 'a bound token with its certificate');
      assert.equal((await ask('/notes', bound, other)).status, 401, 'a bound token with another certificate');
      assert.equal((await ask('/notes', bound)).status, 401, 'a bound token without a certificate');
    }
  } catch (error) {
    const printed = program.output().split('\n').slice(-20).join('\n');
    throw new Error(`${party.name}: ${error instanceof Error ? error.message : String(error)}\n${printed}`, {
      cause: error,
    });
  } finally {
    await program.stop();
  }
}
