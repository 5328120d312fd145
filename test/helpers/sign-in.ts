// Creates a session as sign-in does, without a browser and without the work of a password.
import { randomBytes } from 'node:crypto';
import type { NewSession } from '../../src/repositories/sessions/sessions.ts';
import type { NewSignIn } from '../../src/repositories/sessions/sign-ins.ts';

export function signInOf(
  of: Pick<NewSession, 'tokenHash' | 'sid' | 'sub' | 'passwordHash'>,
  lifetime: number,
): NewSignIn {
  const lives = { idleLifetime: lifetime, lifetime, userAgent: undefined, address: undefined };
  return {
    session: { ...of, amr: ['pwd'], ...lives },
    renews: undefined,
    browser: { hash: randomBytes(32), previousHash: undefined, lifetime },
    notice: { name: 'new-sign-in' },
    event: { type: 'user.signed_in', outcome: 'success', actor: of.sub, sub: of.sub },
    resetsFailures: false,
    perUser: 0,
  };
}
