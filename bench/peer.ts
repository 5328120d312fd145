// Runs the peer: oidc-provider on the same PostgreSQL, set up for operation as its documentation says.
import { generateKeyPairSync, randomBytes, randomUUID, X509Certificate } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Provider } from 'oidc-provider';
import pg from 'pg';
import { adapterOn, createTables } from './peer-adapter.ts';

// measured with: no developer's pages, no memory adapter, cookies signed, RS256 with 2048 bits, opaque tokens
const [url, poolSize, port, accounts] = process.argv.slice(2);
const issuer = `http://localhost:${port}`;
const pool = new pg.Pool({ connectionString: url, max: Number(poolSize), idleTimeoutMillis: 600_000 });
await createTables(pool);
await pool.query(
  `CREATE TABLE IF NOT EXISTS peer_accounts (sub text PRIMARY KEY, username text UNIQUE, claims jsonb NOT NULL)`,
);
await pool.query(
  `INSERT INTO peer_accounts SELECT gen_random_uuid(), 'user-' || n,
     jsonb_build_object('name', 'Alice Adams', 'preferred_username', 'user-' || n, 'email', 'user-' || n || '@example.com', 'email_verified', false)
   FROM generate_series(0, $1 - 1) n`,
  [Number(accounts)],
);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const Adapter = adapterOn(pool);
const formPage = (inner: string) =>
  `<!doctype html><html lang="en"><title>Peer</title><form method="post">${inner}<button>Go on</button></form></html>`;
const signInPage = formPage('<input name="username"><input name="password" type="password">');
const consentPage = formPage('<p>The application asks for your profile.</p>');

const findAccount = { name: 'peer_accounts.find', text: 'SELECT claims FROM peer_accounts WHERE sub = $1' };
const findByName = { name: 'peer_accounts.find_by_name', text: 'SELECT sub FROM peer_accounts WHERE username = $1' };
const provider = new Provider(issuer, {
  adapter: Adapter,
  async findAccount(_context, sub) {
    const { rows } = await pool.query<{ claims: Record<string, string> }>({ ...findAccount, values: [sub] });
    return rows[0] && { accountId: sub, claims: () => ({ sub, ...rows[0]!.claims }) };
  },
  claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'] },
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  features: {
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    revocation: { enabled: true },
    dPoP: { enabled: true },
    mTLS: {
      enabled: true,
      certificateBoundAccessTokens: true,
      // a proxy passes the certificate on (RFC 9440)
      getCertificate(context) {
        const header = context.get('client-cert');
        return header === '' ? undefined : new X509Certificate(Buffer.from(header.slice(1, -1), 'base64'));
      },
    },
    userinfo: { enabled: true },
    // one API, whose access tokens are JWTs
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({
        scope: 'reports.read',
        accessTokenFormat: 'jwt',
        accessTokenTTL: 3600,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  // each refresh gives a new refresh token, as the service does
  rotateRefreshToken: true,
  issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
  // the same lifetimes as the service
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 60,
    ClientCredentials: 3600,
    IdToken: 3600,
    RefreshToken: 30 * 86_400,
    DeviceCode: 3600,
    Interaction: 600,
    Grant: 180 * 86_400,
    Session: 8 * 3600,
  },
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'bench' }] },
});

await makeClients();
const answer = provider.callback();
const server = createServer((request, response) => {
  const work = request.url!.startsWith('/interaction/') ? interact(request, response) : answer(request, response);
  work.catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.writeHead(500).end();
  });
});
server.listen(Number(port), 'localhost', () => process.stdout.write(`listening on ${port}\n`));
process.on('SIGTERM', () => process.exit(0));

/** Clients like the service's, in the database, from which each request reads its own. They are printed before the port. */
async function makeClients(): Promise<void> {
  const redirect_uris = ['https://rp.example.com/callback'];
  const kinds = {
    machine: { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
    web: { grant_types: ['authorization_code'], redirect_uris },
    ledger: {
      grant_types: ['authorization_code'],
      redirect_uris,
      tls_client_certificate_bound_access_tokens: true,
    },
    television: {
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: [],
      response_types: [],
    },
    lasting: { grant_types: ['authorization_code', 'refresh_token'], redirect_uris },
  };
  const table = new Adapter('Client');
  for (const [kind, metadata] of Object.entries(kinds)) {
    const client = { client_id: randomUUID(), client_secret: randomBytes(32).toString('base64url'), ...metadata };
    await table.upsert(client.client_id, client);
    process.stdout.write(`client ${kind} ${client.client_id} ${client.client_secret}\n`);
  }
}

/** The smallest sign-in and consent: two small forms; the password is not checked. */
async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const details = await provider.interactionDetails(request, response);
  const { prompt, params, session } = details;
  if (request.method === 'GET') {
    const page = prompt.name === 'login' ? signInPage : consentPage;
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': Buffer.byteLength(page) });
    response.end(page);
    return;
  }
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part as string;
  const form = new URLSearchParams(text);
  if (prompt.name === 'login') {
    const found = await pool.query<{ sub: string }>({ ...findByName, values: [form.get('username')] });
    const login = { accountId: found.rows[0]!.sub };
    await provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
    return;
  }
  const known = details.grantId === undefined ? undefined : await provider.Grant.find(details.grantId);
  const grant = known ?? new provider.Grant({ accountId: session!.accountId, clientId: params['client_id'] as string });
  const { missingOIDCScope, missingOIDCClaims } = prompt.details as Record<string, string[] | undefined>;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
  if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}
