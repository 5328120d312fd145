// The demonstration: the service, unless it runs already, a sample application that uses it, and a person who signs in.
import { ConfigError, loadConfig } from '../src/config.ts';
import { EmbeddedPostgresError } from '../src/database/embedded.ts';
import { MigrationError } from '../src/database/migrations.ts';
import { OAuthError } from '../src/oauth/errors.ts';
import { startService } from '../src/service.ts';
import { approveClient, DemoError, ensureUser, keepNotes, readNotes, username } from './administrator.ts';
import { startRelyingParty } from './relying-party.ts';

/** What was started, in the order of its start; ended the other way around. */
const started: { stop(): Promise<void> }[] = [];
let stopping: Promise<void> | undefined;

process.on('SIGINT', () => void end(0));
process.on('SIGTERM', () => void end(0));

try {
  const config = loadConfig({ ...process.env, LOG_LEVEL: process.env['LOG_LEVEL'] || 'warn' });
  const demoPort = Number(process.env['DEMO_PORT'] || 3001);
  if (!Number.isInteger(demoPort) || demoPort < 1 || demoPort > 65_535) {
    throw new DemoError('The setting DEMO_PORT must be a port number.');
  }
  if (!['localhost', '127.0.0.1', '[::1]'].includes(new URL(config.issuer).hostname)) {
    throw new DemoError('The demonstration makes a sample user: run it without BASE_URL, on this computer only.');
  }

  const running = await answers(config.issuer);
  if (!running) {
    const service = await startService(config);
    started.push(service);
    if (service.firstPassword !== undefined) {
      process.stdout.write(
        `\n  The first administrator is made. This is shown once:\n    user name  ${config.adminUsername}\n    password   ${service.firstPassword}\n`,
      );
    }
  }
  const notes = readNotes(config.dataDir);
  const application = await startRelyingParty({
    issuer: config.issuer,
    port: demoPort,
    registration: notes.registration,
    approve: (clientId) => approveClient(config, clientId),
  });
  started.push(application);
  keepNotes(config.dataDir, { ...notes, registration: application.registration });
  const password = await ensureUser(config, notes.password);
  keepNotes(config.dataDir, { registration: application.registration, password });

  if (!stopping) {
    const shown =
      password ?? `as it was set (forgotten? npm run -s idp -- user set-password ${username} --password-stdin)`;
    process.stdout.write(
      [
        '',
        `  The demonstration is ready: open ${application.url} and sign in as`,
        `    user name  ${username}`,
        `    password   ${shown}`,
        '',
        `  Gatehouse ${running ? 'ran already' : 'runs'} at ${config.issuer}. Ctrl-C ends the demonstration.`,
        '',
        '',
      ].join('\n'),
    );
  }
} catch (error) {
  if (!stopping) process.stderr.write(`${complaint(error)}\n`);
  await end(1);
}

/** Does a service with this issuer answer? */
async function answers(issuer: string): Promise<boolean> {
  try {
    const response = await fetch(`${issuer}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(3000) });
    const metadata = (await response.json()) as { issuer?: unknown };
    return metadata.issuer === issuer;
  } catch {
    return false;
  }
}

function end(code: number): Promise<void> {
  stopping ??= (async () => {
    let result = code;
    for (const part of started.reverse()) {
      await part.stop().catch((error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        result = 1;
      });
    }
    process.exit(result);
  })();
  return stopping;
}

function complaint(error: unknown): string {
  if (
    error instanceof DemoError ||
    error instanceof ConfigError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof MigrationError
  ) {
    return error.message;
  }
  if (error instanceof OAuthError) return `The sample user could not be made: ${error.description}.`;
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') {
    const setting = started.length === 0 ? 'PORT' : 'DEMO_PORT';
    return `The port ${port} is taken by another program: set ${setting} to a free one.`;
  }
  return error instanceof Error && error.stack ? error.stack : String(error);
}
