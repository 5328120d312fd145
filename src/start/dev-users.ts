// Reads the users in the configuration of `gatehouse dev`, and stores them (delivery 5).
import { z } from 'zod';
import { near } from '../admin/operations/config/config-file.ts';
import { ConfigError } from '../config.ts';
import { readCodeSecret } from '../crypto/one-time-codes.ts';
import type { createPasswordHashing } from '../crypto/password-hashing.ts';
import { randomId } from '../crypto/secrets.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { createAdministration } from '../domain/administration/administration.ts';
import { firstRefusal, rule, sentenceOf } from '../oauth/refusals.ts';
import { associatedDataOf } from '../repositories/keys/sealed-values.ts';
import type { Store } from '../repositories/store.ts';
import { isYamlMap, type YamlMap, type YamlText } from '../rules/files/yaml-text.ts';
import { newUserShape } from '../rules/users/administration.ts';

const { username, ...others } = newUserShape(1).shape;
/** What an entry has; its name is the user name. */
const entryShape = z.strictObject({
  ...others,
  status: z.enum(['enabled', 'disabled'], rule('status')).default('enabled'),
  /** The secret of an app that shows codes, in base32: the user then has a second factor. */
  totp: z.string(rule('string')).optional(),
});

export type DevUser = z.infer<typeof entryShape> & { username: string };

interface File {
  name: string;
  text: YamlText;
}

/** @throws ConfigError with one sentence that names the file and the line */
export function readDevUsers(files: readonly File[]): DevUser[] {
  const declared = files.flatMap(({ text: { value } }) =>
    isYamlMap(value['groups']) ? Object.keys(value['groups']) : [],
  );
  const declares = files.some(({ text: { value } }) => value['groups'] !== undefined);
  return files.flatMap(({ name: file, text: { value, lineOf } }) => {
    const { users = {} } = value;
    const refuse = (path: string[], sentence: string): never => {
      throw new ConfigError(`The configuration is wrong: line ${lineOf(path)} of ${file}: ${sentence}.`);
    };
    if (users !== null && !isYamlMap(users))
      refuse(['users'], 'users must be a mapping: the name of each user, and its members');
    return Object.entries((users ?? {}) as YamlMap).map(([name, entry]) => {
      const fault = (member: string, sentence: string) =>
        refuse(['users', name, ...member.split('.')], `users.${name}: ${sentence}`);
      const given = username.safeParse(name);
      if (!given.success) return fault('', sentenceOf(firstRefusal(given.error, 'the name')));
      const parsed = entryShape.safeParse(entry ?? {}, { reportInput: true });
      if (!parsed.success) {
        const found = firstRefusal(parsed.error, 'the entry');
        const isUnknown = found.code === 'unknown' && isYamlMap(entry) && Object.hasOwn(entry, found.member);
        return fault(found.member, isUnknown ? near(found.member, Object.keys(entryShape.shape)) : sentenceOf(found));
      }
      const { totp } = parsed.data;
      if (totp !== undefined && readCodeSecret(totp) === undefined)
        return fault('totp', 'totp must be a secret in base32 of at least 80 bits');
      const other = parsed.data.groups?.find((group) => declares && !declared.includes(group));
      if (other !== undefined) return fault('groups', `groups: ${near(other, declared)}`);
      return { ...parsed.data, username: given.data };
    });
  });
}

interface Parts {
  administration: ReturnType<typeof createAdministration>;
  store: Pick<Store, 'totpAuthenticators'>;
  secretBox: SecretBox;
  hashing: Pick<ReturnType<typeof createPasswordHashing>, 'hash'>;
}

/** Stores a user. @returns what the line on standard output says of it */
export async function storeDevUser({ administration, store, secretBox, hashing }: Parts, given: DevUser) {
  const { password, email_verified: isVerified, attributes, claims = {}, status, totp, ...user } = given;
  const by = { actor: 'gatehouse dev' };
  const { user: made } = await administration.createUser(by, {
    ...user,
    confirmedBy: isVerified ? 'administrator' : undefined,
    passwordHash: password === undefined ? undefined : await hashing.hash(password),
    attributes,
    claims: Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== undefined)),
  });
  const { sub } = made;
  if (totp !== undefined) {
    const id = randomId();
    const secretEncrypted = secretBox.seal(
      readCodeSecret(totp)!,
      associatedDataOf('authenticators.secret_encrypted', id),
    );
    await store.totpAuthenticators.insert({ id, sub, name: '', secretEncrypted, lastStep: 0 });
  }
  if (status === 'disabled') await administration.changeUser(by, sub, { status });
  return { username: made.username, password, sub, email: made.email, admin: made.admin };
}
