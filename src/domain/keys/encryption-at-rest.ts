// Opens the SECRET_KEY for a database, and encrypts stored values again with its first key.
import { ConfigError } from '../../config.ts';
import { createSecretBox, type SecretBox } from '../../crypto/secret-box.ts';
import { parseSecretKey, type SecretKey } from '../../crypto/secret-key.ts';
import { conflict } from '../../oauth/errors.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import { instanceTimeout } from '../../repositories/instances/instances.ts';
import type { Store } from '../../repositories/store.ts';

export interface Encryption {
  secretBox: SecretBox;
  /** The first key encrypts. */
  keys: readonly [SecretKey, ...SecretKey[]];
}

const batch = 100;

/**
 * @param secretKeys the keys of SECRET_KEY as text
 * @throws ConfigError when a stored value was encrypted with another key
 */
export async function openEncryption(store: Store, secretKeys: readonly string[]): Promise<Encryption> {
  const [current, ...others] = secretKeys.map(parseSecretKey);
  const keys = [current!, ...others] as const;
  const given = keys.map(({ id }) => id);
  const missing = (await store.sealedValues.keyIds()).filter((id) => !given.includes(id));
  if (missing.length > 0)
    throw new ConfigError(
      `The setting SECRET_KEY, or the file secret-key in DATA_DIR, lacks the key ${missing.join(' and ')}, which encrypted values of this database: add it, separated by a comma, or use the SECRET_KEY of the instance that runs already (what is set holds ${given.join(' and ')}).`,
    );
  return { secretBox: createSecretBox(keys), keys };
}

/**
 * Encrypts every stored value with the first key, batch by batch; the next run continues an interrupted one.
 * @param onProgress gets the number of re-encrypted values, and the total
 * @returns the number of values that were encrypted again, and the ids of the keys that are no longer needed
 * @throws OAuthError conflict while an instance encrypts with another key, or for a value that was modified
 */
export async function reencrypt(
  store: Store,
  { secretBox, keys: [current, ...others] }: Encryption,
  by: Actor,
  onProgress: (done: number, total: number) => void,
): Promise<{ values: number; notNeeded: string[] }> {
  await refuseOtherEncryption(store, current.id);
  const total = await store.sealedValues.countOthers(current.id);
  let values = 0;
  for (const [column, name] of store.sealedValues.names.entries()) {
    for (let after = ''; ;) {
      const found = await store.sealedValues.others(column, after, current.id, batch);
      if (found.length === 0) break;
      const replacements = found.map(({ id, sealed }) => ({
        id,
        before: sealed,
        after: sealAgain(associatedDataOf(name, id), sealed),
      }));
      values += await store.sealedValues.replace(column, replacements);
      onProgress(values, total);
      after = found.at(-1)!.id;
    }
  }
  // an instance that started during this run may have used another key
  await refuseOtherEncryption(store, current.id);
  if ((await store.sealedValues.keyIds()).some((id) => id !== current.id))
    throw conflict('values have been encrypted with another key in the meantime: run the command again');
  const notNeeded = others.map(({ id }) => id);
  await store.transaction(({ auditEvents }) =>
    auditEvents.insert({
      type: 'secret_key.reencrypted',
      outcome: 'success',
      ...by,
      detail: { secret_key_id: current.id, values, not_needed: notNeeded },
    }),
  );
  return { values, notNeeded };

  function sealAgain(associatedData: string, sealed: Buffer): Buffer {
    try {
      return secretBox.seal(secretBox.open(sealed, associatedData), associatedData);
    } catch {
      throw conflict(
        `the value ${associatedData} cannot be decrypted, since its row was altered: restore or delete the row, then run the command again`,
      );
    }
  }
}

async function refuseOtherEncryption(store: Store, keyId: string): Promise<void> {
  const left = (await store.instances.running()).filter(({ secretKeyId }) => secretKeyId !== keyId);
  if (left.length === 0) return;
  const ids = [...new Set(left.map(({ secretKeyId }) => secretKeyId))].join(' and ');
  throw conflict(
    `${left.length === 1 ? 'an instance encrypts' : `${left.length} instances encrypt`} with the key ${ids}, and this command with the key ${keyId}: put the same key first on all instances and restart them (an instance that was killed counts for ${instanceTimeout} seconds)`,
  );
}
