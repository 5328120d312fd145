// Guessing passwords at the sign-in page of any instance, from any network, with or without a browser's cookies.
import type { TestService } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

export type Guess = (
  password: string,
  from?: { agent?: UserAgent; network?: number; instance?: number },
) => Promise<Page>;

/** A guesser of one account's password: a stranger's browser unless one is given, in a network of its own if one is named (TRUST_PROXY must hold the loopback). */
export async function guesser(service: TestService, username: string): Promise<Guess> {
  const stranger = new UserAgent(service);
  const form = hiddenFields((await stranger.get('/login')).body);
  return async (password, { agent, network, instance = 0 } = {}) => {
    const hidden = agent ? hiddenFields((await agent.get('/login')).body) : form;
    const cookies = agent ?? stranger;
    const headers = { ...(network !== undefined && { 'x-forwarded-for': `10.${network >> 8}.${network & 255}.7` }) };
    // a stranger whose guess was right would be one no longer
    const browser = agent ?? Object.assign(new UserAgent(service), { cookies: new Map(cookies.cookies) });
    return browser.post(`${service.instances[instance]}/login`, { ...hidden, username, password }, headers);
  };
}

/** How often passwords were looked at, and how often they were not, since the account had to wait. */
export async function looks(service: TestService, sub: string): Promise<{ looked: number; refused: number }> {
  const [row] = await service.database.sql<{ failed: number; refused: number }>(
    `SELECT count(*) FILTER (WHERE type = 'user.sign_in_failed')::int AS failed,
            count(*) FILTER (WHERE type = 'user.locked_out')::int AS refused FROM audit_events WHERE sub = $1`,
    [sub],
  );
  return { looked: row!.failed - row!.refused, refused: row!.refused };
}
