// Runs the demo: the service, unless it runs already, sample applications, a sample television, MCP server, bank and gateway that use it, and sample users.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, loadConfig } from '../src/config.ts';
import { EmbeddedPostgresError } from '../src/database/embedded.ts';
import { MigrationError } from '../src/database/migrations.ts';
import { OAuthError } from '../src/oauth/errors.ts';
import { startService } from '../src/start/service.ts';
import {
  approveClient,
  DemoError,
  ensureExchange,
  ensureMcpResource,
  ensurePaymentType,
  ensureUser,
  keepNotes,
  otherUser,
  readNotes,
  sampleUser,
  trustForBackchannel,
} from './administrator.ts';
import { admittedGroup, startApplicationServer } from './application-server.ts';
import { startBank } from './bank.ts';
import { startCounter } from './counter.ts';
import { startDevice } from './device.ts';
import { startGateway } from './gateway.ts';
import { startMcpServer } from './mcp-server.ts';
import { startProtectedSite } from './protected-site.ts';
import { startRelyingParty } from './relying-party.ts';
import { startSamlApplication } from './saml-application.ts';

/** The started programs, in the order of their start; ended in reverse order. */
const started: { stop(): Promise<void> }[] = [];
let stopping: Promise<void> | undefined;
/** The setting that names a port. */
const portSettings = new Map<number, string>();
/** Where the demonstration keeps its own service, so that its users and clients are in no other one. */
const ownData = fileURLToPath(new URL('../data-demo', import.meta.url));

process.on('SIGINT', () => void end(0));
process.on('SIGTERM', () => void end(0));

try {
  const { DATA_DIR, LOG_LEVEL, CIBA, DEVICE_GRANT, START_PAGE, ...environment } = process.env;
  const given = {
    ...environment,
    DATA_DIR,
    LOG_LEVEL: LOG_LEVEL || 'warn',
    CIBA: CIBA || 'on',
    DEVICE_GRANT: DEVICE_GRANT || 'on',
    START_PAGE: START_PAGE || 'on',
  };
  let config = loadConfig(given);
  portSettings.set(config.port, 'PORT');
  const demoPort = portSetting('DEMO_PORT', 3001);
  const applicationPort = portSetting('DEMO_APPLICATION_PORT', 3002);
  const devicePort = portSetting('DEMO_DEVICE_PORT', 3003);
  const mcpPort = portSetting('DEMO_MCP_PORT', 3004);
  const bankPort = portSetting('DEMO_BANK_PORT', 3005);
  const samlPort = portSetting('DEMO_SAML_PORT', 3006);
  const gatewayPort = portSetting('DEMO_GATEWAY_PORT', 3007);
  const counterPort = portSetting('DEMO_COUNTER_PORT', 3008);
  if (!['localhost', '127.0.0.1', '[::1]'].includes(new URL(config.issuer).hostname)) {
    throw new DemoError('The demonstration makes a sample user: run it without BASE_URL, on this computer only.');
  }

  const running = await metadataOf(config.issuer);
  if (!running) {
    // also for the commands that the demonstration runs
    if (!DATA_DIR && config.databaseUrl === undefined) {
      process.env['DATA_DIR'] = ownData;
      config = loadConfig({ ...given, DATA_DIR: ownData });
    }
    const service = await startService(config);
    started.push(service);
    if (service.firstPassword !== undefined) {
      process.stdout.write(
        `\n  The first administrator was created. The password is printed only this once:\n    user name  ${config.adminUsername}\n    password   ${service.firstPassword}\n`,
      );
    }
  }
  const notes = readNotes(config.dataDir);
  const approve = (clientId: string) => approveClient(config, clientId);
  /** Stored at once: a later step may fail. */
  const keep = (change: Partial<typeof notes>) => keepNotes(config.dataDir, Object.assign(notes, change));

  const application = await startRelyingParty({
    issuer: config.issuer,
    port: demoPort,
    registration: notes.registration,
    approve,
  });
  started.push(application);
  keep({ registration: application.registration });
  const server = await startApplicationServer({
    issuer: config.issuer,
    port: applicationPort,
    registration: notes.applicationRegistration,
    approve,
  });
  started.push(server);
  keep({ applicationRegistration: server.registration });
  // a service that ran already may not offer the grant
  const offersDevices = !running || 'device_authorization_endpoint' in running;
  const device = offersDevices
    ? await startDevice({
        issuer: config.issuer,
        port: devicePort,
        registration: notes.deviceRegistration,
        approve,
      })
    : undefined;
  if (device) {
    started.push(device);
    keep({ deviceRegistration: device.registration });
  }
  const mcp = await startMcpServer({ issuer: config.issuer, port: mcpPort });
  started.push(mcp);
  await ensureMcpResource(config, mcp.resource);
  await ensurePaymentType(config);
  const bank = await startBank({
    issuer: config.issuer,
    port: bankPort,
    registration: notes.bankRegistration,
    approve,
  });
  started.push(bank);
  keep({ bankRegistration: bank.registration });
  const library = await startSamlApplication({
    issuer: config.issuer,
    port: samlPort,
    environment: process.env,
    registration: notes.samlRegistration,
  });
  started.push(library);
  keep({ samlRegistration: library.registration });
  const gateway = await startGateway({
    issuer: config.issuer,
    port: gatewayPort,
    registrations: notes.gatewayRegistrations,
    approve,
  });
  started.push(gateway);
  keep({ gatewayRegistrations: gateway.registrations });
  await ensureExchange(config, gateway.registrations);
  const offersRequests = !running || 'backchannel_authentication_endpoint' in running;
  const counter = offersRequests
    ? await startCounter({
        issuer: config.issuer,
        port: counterPort,
        registration: notes.counterRegistration,
        async approve(clientId) {
          await approve(clientId);
          await trustForBackchannel(config, clientId);
        },
      })
    : undefined;
  if (counter) {
    started.push(counter);
    keep({ counterRegistration: counter.registration });
  }
  const site = await startProtectedSite({
    issuer: config.issuer,
    environment: process.env,
    registration: notes.siteRegistration,
  });
  if (typeof site !== 'string') {
    started.push(site);
    keep({ siteRegistration: site.registration });
  }
  for (const user of [sampleUser, otherUser]) {
    const { username } = user;
    const password = await ensureUser(config, user, notes.passwords?.[username]);
    keep({ passwords: { ...notes.passwords, [username]: password } });
  }

  if (!stopping) {
    const place = config.dataDir === ownData ? `DATA_DIR=${relative('', ownData)} ` : '';
    const users = [sampleUser, otherUser].flatMap(({ username }) => {
      const forgotten = `${place}bin/gatehouse user set-password ${username} --password-stdin`;
      const password = notes.passwords?.[username] ?? `as it was set (forgotten? ${forgotten})`;
      return [`    user name  ${username}`, `    password   ${password}`, ''];
    });
    process.stdout.write(
      [
        '',
        '  The demonstration is ready. Open',
        `    ${application.url}  an application that shows the claims that it gets about a user`,
        `    ${server.url}  an application server with access for the group ${admittedGroup} only: ${sampleUser.username}, not ${otherUser.username}`,
        device
          ? `    ${device.url}  a television that shows a code, which you enter in a browser`
          : `    The television is missing, because the service that runs already has DEVICE_GRANT=off: start that service with DEVICE_GRANT=on, and then this demonstration again`,
        `    ${mcp.resource}  an MCP server: add this address to an MCP client, and approve the client at ${config.issuer}/admin`,
        `    ${bank.url}  a bank, whose stolen tokens would be worth nothing (FAPI 2.0), and whose customers allow each payment by itself`,
        counter
          ? `    ${counter.url}  the counter of the bank: its customers allow a payment at ${config.issuer}/account/requests`
          : `    The counter of the bank is missing, because the service that runs already has CIBA=off: start that service with CIBA=on, and then this demonstration again`,
        `    ${gateway.url}  an application with a gateway, which exchanges the token of a user for one of the API behind it`,
        `    ${library.url}  a library that speaks SAML 2.0`,
        typeof site !== 'string'
          ? `    ${site.url}  a wiki without a sign-in of its own, behind a proxy (the browser warns of its certificate)`
          : `    The protected site is missing, because ${site}`,
        '  and sign in as',
        ...users,
        `  Gatehouse ${running ? 'ran already' : 'runs'} at ${config.issuer}. Ctrl-C ends the demonstration.`,
        ...(place === '' ? [] : [`  Its data is in ${ownData}. A command for it: ${place}bin/gatehouse user list`]),
        '',
        '',
      ].join('\n'),
    );
  }
} catch (error) {
  if (!stopping) process.stderr.write(`${complaint(error)}\n`);
  await end(1);
}

/** @throws DemoError */
function portSetting(name: string, otherwise: number): number {
  const port = Number(process.env[name] || otherwise);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new DemoError(`The setting ${name} must be a port number.`);
  }
  portSettings.set(port, name);
  return port;
}

/** The metadata of the service with this issuer; undefined if it does not answer. */
async function metadataOf(issuer: string): Promise<object | undefined> {
  try {
    const response = await fetch(`${issuer}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(3000) });
    const metadata = (await response.json()) as { issuer?: unknown };
    return metadata.issuer === issuer ? metadata : undefined;
  } catch {
    return undefined;
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
  if (error instanceof OAuthError) return `A sample user could not be created: ${error.description}.`;
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') {
    return `The port ${port} is in use by another program: set ${portSettings.get(port ?? 0) ?? 'PORT'} to a free port.`;
  }
  return error instanceof Error && error.stack ? error.stack : String(error);
}
