// Runs a service whose mails arrive at a server of the tests, and does what a user does with them.
import { vi } from 'vitest';
import { adminToken, withoutLimits } from './grants.ts';
import { MailServer } from './mail-server.ts';
import { startTestService, type TestService } from './service.ts';
import { hiddenFields, type Page, UserAgent } from './user-agent.ts';

type User = Awaited<ReturnType<TestService['createUser']>>;

const environment = { ...withoutLimits, LIMIT_MAILED_LINKS: '0', LIMIT_MAILED_LINKS_PER_NETWORK: '0' };

export function createMailBed() {
  const server = new MailServer();
  let service: TestService;
  let made = 0;

  /** Sends the form of a page that asks for a link. */
  async function order(path: string, fields: Record<string, string>, agent = new UserAgent(service)): Promise<Page> {
    return agent.post(path, { ...hiddenFields((await agent.get(path)).body), ...fields });
  }
  const waiting = async () =>
    (
      await service.database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM outbox WHERE name <> 'registrations'`)
    )[0]!.n;

  return {
    server,
    /** @param more settings beside the usual ones */
    async start(more: Record<string, string> = {}) {
      await server.start();
      const smtp = `smtp://gatehouse:let%20me%20in@127.0.0.1:${server.port}`;
      service = await startTestService({
        instances: 2,
        environment: { ...environment, SMTP_URL: smtp, SIGN_UP: 'on', DEVICE_GRANT: 'on', CIBA: 'on', ...more },
      });
      return { service, admin: await adminToken(service) };
    },
    async stop() {
      await service?.stop();
      await server.stop();
    },
    async newUser(user: Parameters<TestService['createUser']>[0] = {}): Promise<User & { email: string }> {
      const email = `person-${++made}@example.com`;
      return { ...(await service.createUser({ email, emailVerified: true, ...user })) } as User & { email: string };
    },
    order,
    forgotten: (login: string, agent?: UserAgent) => order('/password/forgotten', { login }, agent),
    linkTo: async (address: string, subject: RegExp): Promise<string> =>
      (await server.find(address, subject)).link!.replace(service.issuer, ''),
    /** Opens a link and presses its button, with further typed fields. */
    async follow(link: string, fields: Record<string, string> = {}, agent = new UserAgent(service)) {
      const page = await agent.get(link);
      if (page.status !== 200) return page;
      return agent.post(link.split('?')[0]!, { ...hiddenFields(page.body), ...fields });
    },
    /** Whether a user can sign in with a password. */
    async takes(user: { username: string }, password: string) {
      const agent = new UserAgent(service);
      await agent.signIn({ username: user.username, password });
      return (await agent.get('/account')).status === 200;
    },
    eventsOf: async (sub: string, type: string) =>
      service.database.sql('SELECT detail FROM audit_events WHERE sub = $1 AND type = $2', [sub, type]),
    /** Waits until every mail is sent. */
    quiet: () => vi.waitUntil(async () => (await waiting()) === 0, { timeout: 10_000, interval: 20 }),
    mailsTo: (address: string) => server.mails.filter((mail) => mail.to.includes(address)),
  };
}
