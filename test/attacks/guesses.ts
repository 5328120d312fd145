// Guesses passwords at the sign-in page of any instance, from any network, with or without the cookies of a browser.
import type { TestService } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

export type Guess = (
  password: string,
  from?: { agent?: UserAgent; network?: number; instance?: number },
) => Promise<Page>;

/**
 * Creates an attacker who guesses the password of one account: in a new browser unless one is given, and in a separate network if one
 * is given (TRUST_PROXY must contain the loopback).
 */
export async function guesser(service: TestService, username: string): Promise<Guess> {
  const newBrowser = new UserAgent(service);
  const form = hiddenFields((await newBrowser.get('/login')).body);
  return async (password, { agent, network, instance = 0 } = {}) => {
    const hidden = agent ? hiddenFields((await agent.get('/login')).body) : form;
    const cookies = agent ?? newBrowser;
    const headers = { ...(network !== undefined && { 'x-forwarded-for': `10.${network >> 8}.${network & 255}.7` }) };
    // after a right guess the account would know a new browser
    const browser = agent ?? Object.assign(new UserAgent(service), { cookies: new Map(cookies.cookies) });
    return browser.post(`${service.instances[instance]}/login`, { ...hidden, username, password }, headers);
  };
}

/** Counts the sign-ins whose password was checked, and those that were refused without a check because the account was throttled. */
export async function looks(service: TestService, sub: string): Promise<{ looked: number; refused: number }> {
  const [row] = await service.database.sql<{ failed: number; refused: number }>(
    `SELECT count(*) FILTER (WHERE type = 'user.sign_in_failed')::int AS failed,
            count(*) FILTER (WHERE type = 'user.locked_out')::int AS refused FROM audit_events WHERE sub = $1`,
    [sub],
  );
  return { looked: row!.failed - row!.refused, refused: row!.refused };
}
