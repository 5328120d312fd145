// Checks and hashes the passwords that users choose.
import type { Config } from '../../config.ts';
import { PasswordQueueFull, type PasswordQueue } from '../rate-limits/password-queue.ts';
import { password as passwordShape } from '../../rules/users/administration.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { PasswordPolicy } from './password-policy.ts';

/** Tells why a password is refused (security R59), and hashes an accepted one. */
export function createPasswordChoice({
  config,
  passwords,
  passwordPolicy,
}: {
  config: Config;
  passwords: PasswordQueue;
  passwordPolicy: PasswordPolicy;
}) {
  const shape = passwordShape(config.passwordMinLength);
  return {
    async faultOf(
      chosen: string | undefined,
      user: Parameters<PasswordPolicy>[1],
    ): Promise<'missing' | 'length' | 'common' | undefined> {
      if (chosen === undefined) return 'missing';
      if (!shape.safeParse(chosen).success) return 'length';
      try {
        await passwordPolicy(chosen, user);
        return undefined;
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error;
        return 'common';
      }
    },
    /** Undefined when too many hashes wait. */
    async hash(chosen: string): Promise<string | undefined> {
      try {
        return await passwords.acquire((slot) => slot.hash(chosen));
      } catch (error) {
        if (!(error instanceof PasswordQueueFull)) throw error;
        return undefined;
      }
    },
  };
}
