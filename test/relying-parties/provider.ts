// Runs the service for the walks: a process of its own, a user to sign in, and clients that register and are approved.
import { randomBytes } from 'node:crypto';
import { approveClient, call } from '../helpers/grants.ts';
import { freePort, runCommand, startServer, stopServers } from '../helpers/server-process.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

export interface Provider {
  issuer: string;
  /** Where the parties listen, one at a time: the only address that the service may call. */
  party: { port: number; url: string };
  person: { username: string; password: string; name: string; email: string };
  /** Registers a client, and approves it as an administrator does; returns its credentials. */
  register(metadata: Record<string, unknown>): Promise<{ clientId: string; clientSecret: string }>;
  /** Calls the admin API. @throws unless it succeeds */
  administer(method: string, path: string, body: unknown): Promise<Record<string, unknown>>;
  /** Warnings and errors that the service logged since the last call. */
  warnings(): string[];
  stop(): Promise<void>;
}

const warning = 40; // pino's level

/** @param database where its data is: DATABASE_URL with SECRET_KEY, or DATA_DIR */
export async function startProvider(database: Record<string, string>): Promise<Provider> {
  const port = await freePort();
  // another host name than the service's, so that each has its own cookies
  const party = { port, url: `http://127.0.0.1:${port}` };
  const settings = { PORT: String(await freePort()), OUTBOUND_ALLOW: new URL(party.url).host, ...database };
  const server = startServer(settings);
  try {
    await server.ready();
    const { issuer } = server;
    const person = {
      username: `alice-${randomBytes(4).toString('hex')}`,
      password: 'correct horse battery staple',
      name: 'Alice <Adams>',
      email: 'alice@example.com',
    };
    const claims = ['--email', person.email, '--claim', 'email_verified=true', '--claim', `name=${person.name}`];
    const password = '--password-stdin';
    await runCommand(['user', 'create', '--username', person.username, ...claims, password], settings, person.password);
    const administrator = await runCommand(
      ['client', 'create', '--name', 'Administrator', '--grant-type', 'client_credentials', '--scope', 'admin'],
      settings,
    );
    const credentials = `${administrator['client_id'] as string}:${administrator['client_secret'] as string}`;
    const basic = `Basic ${Buffer.from(credentials).toString('base64')}`;
    const adminToken = async () =>
      (await tokenRequest(issuer, { basic }, { grant_type: 'client_credentials' })).body['access_token'] as string;
    let read = 0;
    return {
      issuer,
      party,
      person,
      async register(metadata) {
        const answer = await fetch(`${issuer}/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(metadata),
        });
        const body = (await answer.json()) as Record<string, string>;
        if (answer.status !== 201) throw new Error(`the registration was refused: ${JSON.stringify(body)}`);
        const { status } = await approveClient(issuer, await adminToken(), body['client_id']!);
        if (status !== 200) throw new Error(`the approval was refused: ${status}`);
        return { clientId: body['client_id']!, clientSecret: body['client_secret'] ?? '' };
      },
      async administer(method, path, body) {
        const answer = await call(`${issuer}/admin/api${path}`, { method, token: await adminToken(), body });
        if (answer.status >= 300) throw new Error(`${method} ${path} was refused: ${JSON.stringify(answer.body)}`);
        return answer.body;
      },
      warnings() {
        const printed = server.stderr.slice(read);
        read = server.stderr.length;
        return printed.split('\n').filter((line) => line !== '' && levelOf(line) >= warning);
      },
      async stop() {
        await stopServers();
      },
    };
  } catch (error) {
    await stopServers();
    throw error;
  }
}

/** A line that is not a log line is an error of Node itself. */
function levelOf(line: string): number {
  try {
    return (JSON.parse(line) as { level: number }).level;
  } catch {
    return warning;
  }
}
