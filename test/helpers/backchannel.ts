// Sets up back-channel logout for tests: two instances, a receiver on the loopback, and the checks that several test files share.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect } from 'vitest';
import { adminToken, type Answer, call, eventually, obtainTokens, withoutLimits } from './grants.ts';
import { LogoutReceiver, type Received } from './logout-receiver.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from './service.ts';
import { UserAgent } from './user-agent.ts';

export type Delivery = Record<string, string>;

/** Starts the service of a test file before its first test. */
export function useBackchannel() {
  let receiver: LogoutReceiver;
  let service: TestService;
  let token: string;
  let paths = 0;
  beforeAll(async () => {
    receiver = await new LogoutReceiver().start();
    service = await startTestService({
      instances: 2,
      environment: { ...withoutLimits, OUTBOUND_ALLOW: receiver.host },
    });
    token = await adminToken(service);
  });
  afterAll(async () => {
    receiver?.release();
    await service?.stop();
    await receiver?.stop();
  });

  const channel = {
    service: () => service,
    receiver: () => receiver,
    /** Creates a client whose Logout Tokens arrive at a separate path of the receiver. */
    async newClient(
      metadata: Record<string, unknown> = {},
      options: { firstParty?: boolean } = {},
    ): Promise<TestClient & { path: string }> {
      const path = `/logout/${paths++}`;
      const members = {
        backchannel_logout_uri: receiver.uri(path),
        post_logout_redirect_uris: ['https://rp.example.com/signed-out'],
      };
      return { ...(await service.createClient({ ...members, ...metadata }, options)), path };
    },
    /** Signs a user in to these clients in one new browser, and returns the ID Token of each. */
    async signInTo(clients: TestClient[], existing?: TestUser) {
      const agent = new UserAgent(service);
      const user = existing ?? (await service.createUser());
      const idTokens: string[] = [];
      for (const client of clients) idTokens.push((await obtainTokens(service, client, user, {}, agent)).id_token);
      return { agent, user, idTokens, sid: decodeJwt(idTokens[0]!)['sid'] as string };
    },
    async signOut(agent: UserAgent): Promise<void> {
      const end = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
      expect(end.status).toBe(200);
    },
    arrived: (path: string, count = 1): Promise<Received[]> =>
      eventually(
        async () => receiver.at(path),
        (received) => received.length >= count,
      ),
    admin: (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
      call(`${service.issuer}/admin/api${path}`, { method, token, ...(body !== undefined && { body }) }),
    deliveries: async (client: TestClient): Promise<Delivery[]> =>
      (await channel.admin(`/logout-deliveries?client_id=${client.clientId}`)).body['logout_deliveries'] as Delivery[],
    /** Waits until the client's newest delivery has the expected values. */
    delivery: (client: TestClient, satisfies: (delivery: Delivery) => boolean): Promise<Delivery | undefined> =>
      eventually(
        async () => (await channel.deliveries(client))[0],
        (found) => found !== undefined && satisfies(found),
      ),
    async events(client: TestClient): Promise<Record<string, unknown>[]> {
      const { body } = await channel.admin(`/audit?client_id=${client.clientId}`);
      const all = body['events'] as Record<string, unknown>[];
      return all.filter((event) => String(event['type']).startsWith('logout_token.'));
    },
    /** Makes all retry delays expire. */
    async expireRetryDelays(): Promise<void> {
      await service.database.sql('UPDATE logout_receivers SET retry_at = now()');
      await service.database.sql(`UPDATE logout_deliveries SET next_attempt_at = now() WHERE status = 'waiting'`);
      await service.database.sql(`NOTIFY gatehouse, 'logout'`);
    },
    /** Inserts the deliveries of as many sessions as if they had ended at the same moment. */
    async insertDeliveries({ clientId }: TestClient, count: number): Promise<void> {
      await service.database.sql(
        `INSERT INTO logout_deliveries (client_id, sub, sid)
         SELECT $1, 'alice', 'session-' || n FROM generate_series(1, $2::int) n`,
        [clientId, count],
      );
      await service.database.sql(`NOTIFY gatehouse, 'logout'`);
    },
    /** Waits until both instances have polled for waiting deliveries: five newer deliveries have then arrived. */
    async waitUntilBothPoll(): Promise<void> {
      for (let round = 0; round < 5; round++) {
        const client = await channel.newClient();
        await channel.insertDeliveries(client, 1);
        await channel.arrived(client.path);
      }
    },
    allDelivered: ({ clientId }: TestClient): Promise<unknown[]> =>
      eventually(
        () =>
          service.database.sql(`SELECT FROM logout_deliveries WHERE client_id = $1 AND status = 'waiting'`, [clientId]),
        (waiting) => waiting.length === 0,
      ),
  };
  return channel;
}
