// Says what the shell blocks of each document need, and what they call that is not run.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityProviderMetadata, serviceProviderMetadata } from '../../src/saml/metadata.ts';
import { askUser, cibaMetadata } from '../helpers/ciba.ts';
import { adminToken, call, obtainTokens } from '../helpers/grants.ts';
import { type Provider, providerClient, startProvider } from '../helpers/provider.ts';
import { testKey } from '../helpers/saml-messages.ts';
import type { TestService } from '../helpers/service.ts';

export interface Page {
  /** Settings of the service and of the commands. */
  environment?: Record<string, string>;
  /** Files that the reader has. */
  files?: Record<string, string | Buffer>;
  /** Makes what the reader has; returns variables, and the values of words that the reader replaces. */
  before?(service: TestService): Promise<Record<string, string>>;
  /** Lines that a reader adds for one of several ways that the page shows. */
  edit?(script: string): string;
  /** Calls that are refused here, for lack of what a user or another program would do. */
  refused?: readonly RegExp[];
}

/** What the blocks call that is not run. */
const rest = String.raw`(?:[^\n]*\\\n)*[^\n]*$`;
export const foreign: readonly { words: RegExp; why: string }[] = [
  { words: new RegExp(`^(?:CFLAGS=\\S+ .*)?(?:npm|docker) ${rest}`, 'gm'), why: 'installs and starts this project' },
  { words: /^bin\/gatehouse(?: --env-file=\.env)?$/gm, why: 'starts the service' },
  { words: /^(?:export )?(?:DATABASE_URL|RESTORED_URL|CONNECTIONS_ALLOW|SECRET_KEY|BASE_URL)=.*$|^cp \.env\.example .*$/gm, why: 'sets it up' },
  { words: new RegExp(`^(?:psql|pg_dump|createdb|pg_restore) ${rest}`, 'gm'), why: 'is of PostgreSQL' },
  { words: /^cp -a data .*$|^bin\/gatehouse backup \w+ data-backup$|^old=.*$|^printf '%s,%s.*$/gm, why: 'is for a folder of data' },
  { words: new RegExp(`^(?:occ|gitea|pveum|vault) ${rest}`, 'gm'), why: 'is of a program that signs users in' },
  { words: /^(?:MINIO|OAUTH|OPENID|WEB|OC|PROXY|GRAPH|ENABLE|OIDC|PAPERLESS|SSO|SMTP|MAIL|URL|DOMAIN)\w*=.*$/gm, why: 'is its setting' },
  { words: /^(?:ISSUER=\S+ CLIENT_ID=.* )?node \w+\.mjs$/gm, why: 'runs a program of the page' },
  { words: new RegExp(`^(?:useradd|install|tar|cd /opt/gatehouse|systemctl|journalctl|openssl rand|export SECRET_KEY_FILE|export DATA_DIR|TRUST_PROXY=127|/opt/gatehouse|helm|kubectl|cosign|gh|sha256sum) ?${rest}`, 'gm'), why: 'installs the service on a machine' },
  { words: new RegExp(`^sed -e ${rest}`, 'gm'), why: 'writes a file of a proxy' },
  { words: /^until .*$/gm, why: 'waits for an administrator' },
];

let provider: Provider | undefined;
export const stopProvider = () => provider?.stop();

const onePixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A set with one public key, as a reader makes it for the certification suite. */
const keySet = () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'PS256', use: 'sig' }] });
};

/** There is something to do. */
const endsWithTwo = /^config plan \S+$/;

/** A realm with what the page names. */
const realm = JSON.stringify({
  realm: 'staff',
  roles: { client: { app: [{ name: 'editor' }] } },
  groups: [{ name: 'it', path: '/it' }],
  clients: [{ clientId: 'app', redirectUris: ['https://app.example/callback'], secret: '**********' }],
  identityProviders: [{ alias: 'github', providerId: 'github', config: { clientId: 'x', clientSecret: '**********' } }],
  users: [{ username: 'ada', groups: ['/it'] }],
});

/** What a service needs to take certificates. */
const certificatesByProxy = {
  MTLS_BASE_URL: 'https://mtls.id.example.com',
  TRUST_PROXY: '192.0.2.1',
  CLIENT_CERT_HEADER: 'Client-Cert',
  CLIENT_CERT_VERIFY_HEADER: 'Client-Cert-Verify',
};

const toTheProvider = () => Promise.resolve({ 'https://login.example.com': provider!.issuer });

export const pages: Record<string, Page> = {
  'docs/conformance.md': { environment: certificatesByProxy, files: { 'first.public.json': keySet(), 'second.public.json': keySet() } },
  'docs/configuration.md': {
    // the file of the page itself
    files: {
      'gatehouse.yaml': /^```yaml\n(.*?)^```$/ms.exec(
        readFileSync(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8'),
      )![1]!,
    },
    environment: { WIKI_SCIM_TOKEN: 'of the wiki', WIKI_CLIENT_SECRET: 'f'.repeat(16) + '0123456789abcdef', GITHUB_CLIENT_SECRET: 'of the provider', WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 'p').toString('base64')}` },
    refused: [endsWithTwo],
  },
  // the second command of the two has removed the factor already
  'docs/administrator.md': { refused: [/^user remove-second-factor carol --id FACTOR_ID$/] },
  'docs/scim.md': {
    before: async (service) => ({ CLIENT_ID: (await service.createClient()).clientId, TOKEN: 'of the application' }),
  },
  'docs/apis.md': {
    async before(service) {
      const client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
      const credentials = `${client.clientId}:${client.clientSecret}`;
      const answer = await fetch(`${service.issuer}/token`, {
        method: 'POST',
        headers: { authorization: client.basic },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      });
      const { access_token: TOKEN } = (await answer.json()) as { access_token: string };
      return {
         CLIENT: credentials, API_CLIENT: credentials, ISSUER: service.issuer, TOKEN ,
         CLIENT_ID: client.clientId ,
      };
    },
    edit: (script) =>
      script
        .replace('bin/gatehouse resource create', 'bin/gatehouse resource delete https://api.example.com/notes\n$&')
        .replace(/^curl .*client_credentials/m, 'bin/gatehouse resource change https://api.example.com/notes --clients approved\n$&'),
    refused: [/grant_type=authorization_code/],
  },
  'docs/claims.md': {
    async before(service) {
      const { clientId } = await service.createClient({ scope: 'openid roles' });
      await service.store.groups.insert({ name: 'crew' });
      await service.createUser({ username: 'ada' });
      return { CLIENT: clientId };
    },
  },
  'docs/client-id-metadata.md': {
    async before(service) {
      const { clientId } = await service.createClient({}, { status: 'disabled' });
      return { 'https://editor.example/client.json': clientId };
    },
  },
  'docs/connections.md': {
    files: { 'secret.txt': providerClient.secret, 'password.txt': 'the password of the directory' },
    async before(service) {
      const user = await service.createUser({ username: 'ada' });
      const { access_token: ACCESS_TOKEN } = await obtainTokens(service, await service.createClient(), user);
      return { ACCESS_TOKEN, 'https://login.example.com': provider!.issuer };
    },
    refused: [/\/user\/me\/connections\/corporate\/token$/],
  },
  'docs/saml.md': {
    // no identity provider answers at the address of the example, and none has published other metadata
    refused: [/metadata_uri=https:\/\/idp\.example\.com/, /--accept-metadata DIGEST/],
    async before(service) {
      const made = await call(`${service.issuer}/admin/api/clients`, {
        method: 'POST',
        token: await adminToken(service),
        body: { kind: 'saml', entity_id: 'urn:aws', acs_uris: ['https://aws.example/acs'] },
      });
      return { CLIENT_ID: made.body['client_id'] as string };
    },
  },
  'docs/device.md': {
    environment: { DEVICE_GRANT: 'on' },
    async before(service) {
      const { clientId: CLIENT_ID } = await service.createClient({
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        redirect_uris: [],
        scope: 'openid profile offline_access',
      });
      const body = new URLSearchParams({ client_id: CLIENT_ID });
      const answer = await fetch(`${service.issuer}/device_authorization`, { method: 'POST', body });
      const { device_code: code } = (await answer.json()) as { device_code: string };
      return { CLIENT_ID, 'ghdc_…': code };
    },
    // no user has decided yet
    refused: [/device_code=ghdc_/],
  },
  'docs/ciba.md': {
    environment: { CIBA: 'on' },
    async before(service) {
      await service.createUser({ username: 'ada' });
      const client = await service.createClient(cibaMetadata);
      const { body } = await askUser(service.issuer, client, { login_hint: 'ada' });
      const { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET } = client;
      return { CLIENT_ID, CLIENT_SECRET, 'ghbc_…': String(body['auth_req_id']) };
    },
    // no user has answered
    refused: [/auth_req_id=ghbc_/],
  },
  'docs/guides': {
    async before(service) {
      await service.createUser({ username: 'carol' });
      return { CLIENT_ID: (await service.createClient()).clientId };
    },
  },
  'docs/mcp.md': {
    async before(service) {
      return { CLIENT_ID: (await service.createClient({}, { status: 'disabled' })).clientId };
    },
  },
  'docs/mtls.md': {
    environment: { ...certificatesByProxy, CLIENT_CERT_FORMAT: 'pem' },
    // there is no proxy
    refused: [/--cert client\.pem/],
  },
  'docs/move.md': {
    files: {
      'secret.txt': providerClient.secret,
      'gatehouse-import/gatehouse.yaml':
        "apiVersion: gatehouse/v1\nname: keycloak-staff\nclients: { app: { redirect_uris: ['https://app.example/'], client_secret: generate } }\n",
      'gatehouse-import/users.jsonl': '{"username":"ada"}\n',
    },
    before: toTheProvider,
    refused: [endsWithTwo],
  },
  'docs/move-keycloak.md': {
    files: {
      'staff.json': realm,
      'staff-export/staff-realm.json': realm,
      'staff-export/staff-users-0.json': '{"realm":"staff","users":[{"username":"bob"}]}',
      'secret.txt': 'of GitHub',
    },
  },
  'docs/move-authelia.md': {
    files: {
      'configuration.yml': 'access_control: { default_policy: deny }\n',
      'users.yml': "users: { ada: { password: '$6$x$y' } }\n",
      'totp.yml': 'totp_configurations: []\n',
      'identifiers.yml': 'identifiers: []\n',
    },
  },
  'docs/move-authentik.md': {
    files: {
      'blueprint.yaml': 'version: 1\nentries: [{ model: authentik_core.user, attrs: { username: ada, groups: [!KeyOf staff] } }]\n',
    },
  },
  'docs/move-auth0.md': {
    files: {
      'auth0-users.ndjson': '{"user_id":"auth0|1","email":"ada@example.com"}\n',
      'auth0-passwords.ndjson': '{"_id":{"$oid":"1"},"passwordHash":"$2b$10$x"}\n',
    },
  },
  'docs/move-pocket-id.md': {
    files: { 'pocket-id-export/database.json': '{"tables":{"users":[{"id":"1","username":"ada"}]}}' },
  },
  'docs/assertions.md': {
    environment: { ID_JAG: 'on' },
    // no other server has signed one, and no user has signed in
    refused: [/assertion=/, /subject_token=/],
  },
  'docs/authorization-details.md': {
    async before(service) {
      const redirects = ['https://shop.example.com/callback'];
      const metadata = { redirect_uris: redirects, scope: 'openid', authorization_details_types: ['payment'] };
      const { clientId, clientSecret } = await service.createClient(metadata);
      return { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
    },
    files: {
      'payment.schema.json': /```json\n(.*?)```/s.exec(
        readFileSync(join(import.meta.dirname, '../../docs/authorization-details.md'), 'utf8'),
      )![1]!,
    },
  },
  'docs/token-exchange.md': {
    before: async (service) => ({ APP_ID: (await service.createClient()).clientId }),
    // no user has signed in to the application
    refused: [/subject_token=/],
  },
  // no browser has shown this reference
  'docs/sign-in-fails.md': { refused: [/^why [0-9a-f]+$/] },
  'docs/protected-sites.md': {
    async before(service) {
      await service.createUser({ username: 'bob' });
      return {};
    },
  },
  'docs/operator.md': {
    files: {
      'users.csv': 'username,email\nerin,erin@example.com\n',
      'users.jsonl': '{"username":"frank","email":"frank@example.com"}\n',
      'logo.png': onePixel,
    },
    async before(service) {
      await service.createUser({ username: 'admin', admin: true });
      return {};
    },
    // no browser has shown this reference, no dump was made, and no proxy is in front
    refused: [/^why [0-9a-f]+$/, /^backup (?:check|note) gatehouse\.dump$/, /^doctor$/],
  },
};

/** Starts the provider to which the page of connections leads, and allows it. */
export async function startTheProvider(): Promise<void> {
  provider = await startProvider();
  const allowed = { OUTBOUND_ALLOW: new URL(provider.issuer).host };
  pages['docs/connections.md']!.environment = { ...allowed, CONNECTIONS_ALLOW: 'ldap.example.com:636' };
  pages['docs/move.md']!.environment = allowed;
  const { certificate } = await testKey('K');
  pages['docs/saml.md']!.files = { 'idp.pem': certificate, 'metadata.xml': identityProviderMetadata({
    entityId: 'https://idp.example.com/entity', signing: [certificate], nameIdFormats: [], signOnUri: 'https://idp.example.com/sso',
  }), 'wiki.xml': serviceProviderMetadata({
    entityId: 'https://wiki.example/metadata', signing: [certificate], nameIdFormats: [], consumerUri: 'https://wiki.example/acs',
    signsRequests: true,
  }) };
}
