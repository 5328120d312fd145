// Creates the first administrator, if the database has none.
import { type Config, ConfigError } from '../config.ts';
import { isCommonPassword } from '../crypto/common-passwords.ts';
import { createPasswordHashing } from '../crypto/password-hashing.ts';
import { randomSecret } from '../crypto/secrets.ts';
import { isUniqueViolation } from '../database/database.ts';
import { userName } from '../rules/users/administration.ts';
import { firstRefusal, sentenceOf } from '../oauth/refusals.ts';
import type { Store } from '../repositories/store.ts';

/**
 * @returns the generated password, if it created an administrator and ADMIN_PASSWORD is not set
 * @throws ConfigError if ADMIN_PASSWORD is a common password, or ADMIN_USERNAME is no user name, or another user's
 */
export async function createFirstAdministrator(config: Config, store: Store): Promise<string | undefined> {
  if (await store.users.hasAdmin()) return undefined;
  const { adminPassword } = config;
  const named = userName.safeParse(config.adminUsername);
  if (!named.success) throw new ConfigError(`The setting ${sentenceOf(firstRefusal(named.error, 'ADMIN_USERNAME'))}.`);
  const username = named.data;
  if (
    adminPassword !== undefined &&
    config.passwordBreachCheck !== 'off' &&
    isCommonPassword(adminPassword, [username, 'gatehouse'])
  )
    throw new ConfigError(
      'The setting ADMIN_PASSWORD consists of common words, names or keyboard patterns: choose another one.',
    );
  const password = adminPassword ?? randomSecret().slice(0, 24);
  const hash = await createPasswordHashing().hash(password);
  try {
    const created = await store.transaction(async (repositories) => {
      const user = await repositories.users.insertFirstAdmin(username, hash);
      if (user) {
        await repositories.auditEvents.insert({
          type: 'user.created',
          outcome: 'success',
          actor: 'service',
          sub: user.sub,
          detail: { admin: true },
        });
      }
      return user;
    });
    return created && adminPassword === undefined ? password : undefined;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new ConfigError(
      `The setting ADMIN_USERNAME is wrong: there is no enabled administrator, and ${username} is already in use by another user or a client.`,
    );
  }
}
