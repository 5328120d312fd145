// Plays an authenticator app: reads the key from the page, and computes its codes.
import { type TOTP, URI } from 'otpauth';
import type { Page, UserAgent } from './user-agent.ts';

export class Authenticator {
  private readonly codes: TOTP;

  /** The key as a user types it. */
  get key(): string {
    return this.codes.secret.base32;
  }

  /** @param page shows the key of a new authenticator */
  constructor(page: Page) {
    const uri = /id="open-app" href="([^"]*)"/.exec(page.body)?.[1];
    if (uri === undefined) throw new Error(`no key on ${page.url} (${page.status}): ${page.body.slice(0, 2000)}`);
    this.codes = URI.parse(uri.replaceAll('&amp;', '&')) as TOTP;
  }

  /** @param steps so many half minutes from now */
  code(steps = 0): string {
    return this.codes.generate({ timestamp: Date.now() + steps * 30_000 });
  }

  /** A code that is not valid now. */
  wrong(): string {
    const near = [-2, -1, 0, 1, 2].map((steps) => this.code(steps));
    return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !near.includes(code))!;
  }
}

/** Sets up an authenticator on the account page of a user who has just signed in; this uses up the current code. */
export async function setUpAuthenticator(
  agent: UserAgent,
  name = '',
): Promise<{ app: Authenticator; page: Page; recoveryCodes: string[] }> {
  const start = await agent.get('/account/authenticator');
  const app = new Authenticator(start);
  const page = await agent.submit(start, { code: app.code(), name });
  return { app, page, recoveryCodes: recoveryCodesOf(page) };
}

export function recoveryCodesOf(page: Page): string[] {
  return [...page.body.matchAll(/<li><bdi dir="ltr">((?:[A-Z2-9]{4}-?){4})<\/bdi>/g)].map(([, code]) => code!);
}
