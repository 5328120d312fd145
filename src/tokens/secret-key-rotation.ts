// The acts that replace SECRET_KEY and the data keys under it, while instances serve; each can be broken off and done again.
import { setTimeout as delay } from 'node:timers/promises';
import { newDataKey, secretKeyId, wrapDataKey } from '../crypto/data-key.ts';
import { openWith, sealedWith, sealWith } from '../crypto/secret-box.ts';
import { conflict } from '../oauth/errors.ts';
import type { RunningInstance } from '../repositories/keys/data-keys.ts';
import type { Store } from '../repositories/store.ts';
import { openDataKeyRing } from './data-key-ring.ts';
import type { Actor } from '../repositories/administration/actor.ts';

const batch = 100;
const hearingLimit = 45_000; // milliseconds: an instance that lost its connection reads the keys every 30 s
const hearingPause = 50; // milliseconds
const reconnection = 3_000; // milliseconds in which an instance that lost its listening connection is seen again

export interface SecretKeyStatus {
  /** The ids of those that can start the service, the oldest first. */
  secretKeys: string[];
  dataKeys: { version: number; createdAt: Date; seals: boolean; values: number; expiresAt: Date | undefined }[];
  instances: RunningInstance[];
}

export async function secretKeyStatus(store: Store): Promise<SecretKeyStatus> {
  const rows = await store.dataKeys.list();
  const values = await store.sealedValues.count();
  const current = rows.findLast((row) => row.active)?.version;
  return {
    secretKeys: [...new Set(rows.flatMap((row) => [...row.wrappings.keys()]))],
    dataKeys: rows.map((row) => ({
      ...{ version: row.version, createdAt: row.createdAt, expiresAt: row.expiresAt },
      seals: row.version === current,
      values: values.get(row.version) ?? 0,
    })),
    instances: await store.dataKeys.runningInstances(),
  };
}

/** Wraps the data keys by another SECRET_KEY too: from now on instances start with either. Returns its id. */
export async function addSecretKey(store: Store, secretKey: string, added: string, by: Actor): Promise<string> {
  const id = secretKeyId(added);
  if (id === secretKeyId(secretKey)) throw conflict('this is the SECRET_KEY that is in use: give another one');
  const ring = await openDataKeyRing(store, secretKey);
  await store.transaction(async ({ dataKeys, auditEvents }) => {
    await dataKeys.lock();
    // a key that was made meanwhile is not under the other SECRET_KEY: that comes to light here
    if ((await dataKeys.list()).some((row) => !ring.keys.some((key) => key.version === row.version)))
      throw conflict('the data keys are just being changed: do it again');
    let wrapped = false;
    for (const key of ring.keys) wrapped = (await dataKeys.wrap(key.version, id, wrapDataKey(added, key))) || wrapped;
    if (wrapped)
      await auditEvents.insert({ type: 'secret_key.added', outcome: 'success', ...by, detail: { secret_key_id: id } });
  });
  return id;
}

/**
 * Lets no instance start with any SECRET_KEY but this one. Returns the ids of the others.
 * @throws OAuthError conflict while an instance runs that could not start again
 */
export async function retireSecretKeys(store: Store, secretKey: string, by: Actor): Promise<string[]> {
  const id = secretKeyId(secretKey);
  // what opens nothing does not retire the one that does
  await openDataKeyRing(store, secretKey);
  const refuseWhileOthersRun = async (dataKeys: Store['dataKeys']) => {
    const left = (await dataKeys.runningInstances()).filter((instance) => instance.secretKeyId !== id).length;
    if (left > 0) throw conflict(`${runs(left)} with another SECRET_KEY: restart with the new one first`);
  };
  await refuseWhileOthersRun(store.dataKeys);
  // one may be connecting anew at this moment, and would go on with a key that is retired
  await delay(reconnection);
  return store.transaction(async ({ dataKeys, auditEvents }) => {
    await dataKeys.lock();
    await refuseWhileOthersRun(dataKeys);
    const retired = await dataKeys.unwrapOthers(id);
    if (retired.length > 0)
      await auditEvents.insert({
        ...{ type: 'secret_key.retired', outcome: 'success', ...by },
        detail: { secret_key_id: id, retired },
      });
    return retired;
  });
}

/**
 * Makes a data key and seals everything anew with it, or goes on where that was broken off.
 * @param validFor seconds for which digests made with the old key are still good
 * @returns the version of the data key and how many values were sealed anew
 * @throws OAuthError conflict while two SECRET_KEYs are in use, or an instance does not hear of the new key
 */
export async function reencrypt(
  store: Store,
  secretKey: string,
  validFor: number,
  by: Actor,
): Promise<{ version: number; values: number }> {
  const id = secretKeyId(secretKey);
  await openDataKeyRing(store, secretKey);
  const version = await store.transaction(async ({ dataKeys, auditEvents }) => {
    await dataKeys.lock();
    const rows = await dataKeys.list();
    const newest = rows.at(-1)!;
    const others = rows.some((row) => row.wrappings.size !== 1 || !row.wrappings.has(id));
    if (others) throw conflict('another SECRET_KEY is still in use: retire it first');
    const left = (await dataKeys.runningInstances()).filter((instance) => instance.secretKeyId !== id).length;
    if (left > 0) throw conflict(`${runs(left)} with another SECRET_KEY or an older version: replace it first`);
    const unfinished = rows.slice(0, -1).some((row) => row.expiresAt === undefined);
    if (unfinished) return newest.version;
    const made = newDataKey(newest.version + 1);
    await dataKeys.insert(made.version);
    await dataKeys.wrap(made.version, id, wrapDataKey(secretKey, made));
    await auditEvents.insert({
      type: 'data_key.created',
      outcome: 'success',
      ...by,
      detail: { version: made.version },
    });
    return made.version;
  });
  // no instance seals before all can open, and none with the old key once everything is sealed anew
  await heard(store, (instance) => instance.newest >= version);
  await store.dataKeys.activate(version);
  await heard(store, (instance) => instance.current >= version);
  const values = await sealAnew(store, secretKey, version);
  await store.transaction(async ({ dataKeys, auditEvents }) => {
    const expired = await dataKeys.expireOlder(version, validFor);
    if (expired.length > 0)
      await auditEvents.insert({
        ...{ type: 'data_key.retired', outcome: 'success', ...by },
        detail: { version, retired: expired.map(String), values },
      });
  });
  return { version, values };
}

async function sealAnew(store: Store, secretKey: string, version: number): Promise<number> {
  const { keys } = await openDataKeyRing(store, secretKey);
  const key = (wanted: number) => {
    const found = keys.find(({ version: has }) => has === wanted);
    if (!found)
      throw conflict(
        `the data key ${wanted}, with which values are sealed, is missing: restore its rows from a backup`,
      );
    return found;
  };
  let values = 0;
  for (const [column] of store.sealedValues.names.entries()) {
    for (let after = ''; ;) {
      const found = await store.sealedValues.older(column, after, version, batch);
      if (found.length === 0) break;
      values += await store.sealedValues.replace(
        column,
        found.map(({ id, sealed }) => {
          const place = store.sealedValues.place(column, id);
          const opened = openWith(key(sealedWith(sealed)), sealed, place);
          return { id, before: sealed, after: sealWith(key(version), opened, place) };
        }),
      );
      after = found.at(-1)!.id;
    }
  }
  return values;
}

/** Waits until every instance that runs satisfies. @throws OAuthError conflict */
async function heard(store: Store, satisfies: (instance: RunningInstance) => boolean): Promise<void> {
  for (const end = performance.now() + hearingLimit; ; await delay(hearingPause)) {
    const left = (await store.dataKeys.runningInstances()).filter((instance) => !satisfies(instance)).length;
    if (left === 0) return;
    if (performance.now() > end)
      throw conflict(`${runs(left)} that has not heard of the new data key: restart it, then do this again`);
  }
}

const runs = (count: number) => (count === 1 ? 'an instance runs' : `${count} instances run`);
