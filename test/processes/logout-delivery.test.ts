// Kills the service while the receiver of a Logout Token is down, and expects the next process to deliver it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { call, eventually } from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { freePort, runCommand, startServer, stopServers } from '../helpers/server-process.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const password = 'correct horse battery';
const redirectUri = 'https://rp.example.com/callback';

let folder: string;
let receiver: LogoutReceiver;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-logout-'));
  receiver = await new LogoutReceiver().start();
});
afterEach(async () => {
  await stopServers();
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a Logout Token that a killed service did not deliver is delivered by the next process, once the receiver is up (decisions section 6)', async () => {
  const settings = {
    PORT: String(await freePort()),
    DATA_DIR: join(folder, 'data'),
    ADMIN_PASSWORD: password,
    REGISTRATION_APPROVAL: 'automatic',
    OUTBOUND_ALLOW: receiver.host,
  };
  const server = startServer(settings);
  await server.ready();
  const { body: client } = await call(`${server.issuer}/register`, {
    body: { redirect_uris: [redirectUri], backchannel_logout_uri: receiver.uri('/logout') },
  });
  const agent = new UserAgent(server);
  await agent.authorize({ clientId: client['client_id'] as string, redirectUri }, { username: 'admin', password });
  await receiver.stop();
  const end = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  expect(end.body).toContain('You’re signed out');
  await eventually(
    async () => server.stderr,
    (lines) => lines.includes('logout token not delivered'),
  );
  server.kill('SIGKILL');
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' });

  await startServer(settings).ready();
  expect(await runCommand(['logout-delivery', 'list'], settings)).toMatchObject([
    {
      client_id: client['client_id'],
      status: 'waiting',
      last_failure: expect.stringContaining('ECONNREFUSED') as string,
    },
  ]);
  await receiver.start();
  const [received] = await eventually(
    async () => receiver.received,
    ({ length }) => length > 0,
  );
  expect(received!.claims.aud).toBe(client['client_id']);
  const audit = await eventually(
    () => runCommand(['audit', 'list', '--type', 'logout_token.delivered'], settings) as unknown as Promise<unknown[]>,
    ({ length }) => length > 0,
  );
  expect(audit).toHaveLength(1);
  expect(receiver.received).toHaveLength(1);
});
