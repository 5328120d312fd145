// The data keys as an instance holds them: unwrapped by its SECRET_KEY at the start, read again whenever they change.
import { ConfigError } from '../config.ts';
import {
  type DataKey,
  dataKeyOfSecretKey,
  newDataKey,
  secretKeyId,
  unwrapDataKey,
  wrapDataKey,
} from '../crypto/data-key.ts';
import { createSecretBox, openWith, type SecretBox } from '../crypto/secret-box.ts';
import type { DataKeyRow, RunningInstance } from '../repositories/keys/data-keys.ts';
import type { Store } from '../repositories/store.ts';

export interface DataKeyRing {
  secretBox: SecretBox;
  /** What this instance has, for others to see. */
  readonly knows: RunningInstance;
  /** Every data key that it has, the oldest first. */
  readonly keys: readonly DataKey[];
  /** Its SECRET_KEY was retired while it ran: it could not start again, and will not learn of the next data key. */
  readonly retired: boolean;
  /** Reads them again. What it has stays, though its SECRET_KEY may have been retired meanwhile. */
  refresh(): Promise<void>;
}

/** Opens the ring; the first of several instances makes the first data key, the others read it. @throws ConfigError */
export async function openDataKeyRing(store: Store, secretKey: string): Promise<DataKeyRing> {
  const id = secretKeyId(secretKey);
  let keys: DataKey[] = [];
  let current: DataKey | undefined;
  let retired = false;
  let turns = 0;
  let lastTurn = 0;

  async function refresh(): Promise<void> {
    const turn = ++turns;
    const rows = await store.dataKeys.list();
    // of two readings at once the first to begin may be the last to end
    if (turn < lastTurn) return;
    lastTurn = turn;
    keys = rows.flatMap((row) => keys.find((key) => key.version === row.version) ?? unwrap(row) ?? []);
    const active = new Set(rows.filter((row) => row.active).map((row) => row.version));
    current = keys.findLast((key) => active.has(key.version)) ?? current;
    retired = !rows.some((row) => row.version === current?.version && row.wrappings.has(id));
  }

  function unwrap({ version, wrappings }: DataKeyRow): DataKey | undefined {
    const wrapped = wrappings.get(id);
    try {
      return wrapped && unwrapDataKey(secretKey, version, wrapped);
    } catch (error) {
      throw new ConfigError(
        `The data key ${version} cannot be decrypted: its row in the database was altered. Restore it from a backup.`,
        { cause: error },
      );
    }
  }

  /** Makes the first data key's bytes, once in the life of a database. */
  async function begin(): Promise<void> {
    await store.transaction(async ({ dataKeys, sealedValues }) => {
      await dataKeys.lock();
      const rows = await dataKeys.list();
      if (rows.some((row) => row.wrappings.size > 0)) return;
      const sealed = await sealedValues.sample();
      // what a version without data keys has sealed, it goes on to read while it serves beside this one
      const first = sealed.length > 0 ? dataKeyOfSecretKey(secretKey) : newDataKey(1);
      for (const value of sealed) {
        try {
          openWith(first, value.sealed, value.place);
        } catch (error) {
          throw wrongSecretKey(id, [], error);
        }
      }
      await dataKeys.wrap(first.version, id, wrapDataKey(secretKey, first));
    });
  }

  await refresh();
  if (keys.length === 0) {
    await begin();
    await refresh();
  }
  if (!current) {
    const rows = await store.dataKeys.list();
    throw wrongSecretKey(id, [...new Set(rows.flatMap((row) => [...row.wrappings.keys()]))]);
  }

  const find = (version: number) => keys.find((key) => key.version === version);
  const secretBox = createSecretBox({
    get current() {
      return current!;
    },
    get all() {
      return [current!, ...keys.filter((key) => key !== current)];
    },
    async find(version) {
      // another instance may seal with a key that this one has not read yet
      if (!find(version)) await refresh();
      return find(version);
    },
  });
  return {
    secretBox,
    get knows() {
      return { secretKeyId: id, newest: keys.at(-1)!.version, current: current!.version };
    },
    get keys() {
      return keys;
    },
    get retired() {
      return retired;
    },
    refresh,
  };
}

function wrongSecretKey(given: string, expected: string[], cause?: unknown): ConfigError {
  const known = expected.length > 0 ? ` (its id is ${given}; the database knows ${expected.join(' and ')})` : '';
  return new ConfigError(
    `The setting SECRET_KEY is not the one that this database was encrypted under${known}: set that one; if it was replaced, the new one.`,
    { cause },
  );
}
