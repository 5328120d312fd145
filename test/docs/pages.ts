// Says what the shell blocks of each document need, and what they call that is not run.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { obtainTokens } from '../helpers/grants.ts';
import { type Provider, providerClient, startProvider } from '../helpers/provider.ts';
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
  { words: /^(?:export )?(?:DATABASE_URL|SECRET_KEY|BASE_URL)=.*$|^cp \.env\.example .*$/gm, why: 'sets it up' },
  { words: new RegExp(`^(?:psql|pg_dump|createdb|pg_restore) ${rest}`, 'gm'), why: 'is of PostgreSQL' },
  { words: /^cp -a data .*$|^old=.*$|^printf '%s,%s.*$/gm, why: 'is for a folder of data' },
  { words: new RegExp(`^(?:occ|gitea|pveum) ${rest}`, 'gm'), why: 'is of a program that signs users in' },
  { words: /^(?:MINIO|OAUTH|OPENID|WEBUI|ENABLE|OIDC|PAPERLESS|SSO|SMTP|MAIL|URL|DOMAIN)\w*=.*$/gm, why: 'is its setting' },
  { words: /^(?:ISSUER=\S+ CLIENT_ID=.* )?node \w+\.mjs$/gm, why: 'runs a program of the page' },
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

export const pages: Record<string, Page> = {
  'docs/conformance.md': { files: { 'first.public.json': keySet(), 'second.public.json': keySet() } },
  'docs/configuration.md': {
    // the file of the page itself
    files: {
      'gatehouse.yaml': /^```yaml\n(.*?)^```$/ms.exec(
        readFileSync(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8'),
      )![1]!,
    },
    environment: { WIKI_CLIENT_SECRET: 'f'.repeat(16) + '0123456789abcdef', GITHUB_CLIENT_SECRET: 'of the provider' },
    // it ends with 2, since there is something to do
    refused: [/^config plan gatehouse.yaml$/],
  },
  // the second command of the two has removed the factor already
  'docs/administrator.md': { refused: [/^user remove-second-factor carol --id FACTOR_ID$/] },
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
  'docs/move.md': {
    files: {
      'staff.json': JSON.stringify({ realm: 'staff', clients: [], users: [{ username: 'ada' }] }),
      'configuration.yml': 'access_control: { default_policy: deny }\n',
      'users.yml': "users: { ada: { password: '$6$x$y' } }\n",
      'totp.yml': 'totp_configurations: []\n',
      'identifiers.yml': 'identifiers: []\n',
      'blueprint.yaml': 'version: 1\nentries: [{ model: authentik_core.user, attrs: { username: ada, groups: [!KeyOf staff] } }]\n',
      'auth0-users.ndjson': '{"user_id":"auth0|1","email":"ada@example.com"}\n',
      'auth0-passwords.ndjson': '{"_id":{"$oid":"1"},"passwordHash":"$2b$10$x"}\n',
      'pocket-id-export/database.json': '{"tables":{"users":[{"id":"1","username":"ada"}]}}',
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
    // no browser has shown this reference
    refused: [/^why [0-9a-f]+$/],
  },
};

/** Starts the provider to which the page of connections leads, and allows it. */
export async function startTheProvider(): Promise<void> {
  provider = await startProvider();
  pages['docs/connections.md']!.environment = { OUTBOUND_ALLOW: new URL(provider.issuer).host, CONNECTIONS_ALLOW: 'ldap.example.com:636' };
}
