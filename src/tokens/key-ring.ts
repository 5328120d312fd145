// Manages the signing keys: made on the first start, encrypted at rest, published before their use and after their retirement (security R94, R95).
import { setTimeout as delay } from 'node:timers/promises';
import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type GenerateKeyPairResult,
  importJWK,
  type JWK,
  type LocalJWKSet,
} from 'jose';
import { ConfigError } from '../config.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { conflict, notFound } from '../oauth/errors.ts';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { Repositories, Store } from '../repositories/store.ts';
import { associatedDataOf } from '../repositories/keys/sealed-values.ts';
import type { SigningKeyRow } from '../repositories/keys/signing-keys.ts';
import type { Actor } from '../repositories/audit/actor.ts';

export type KeyAlgorithm = SigningKeyRow['alg'];
export const keyAlgorithms: readonly KeyAlgorithm[] = ['RS256', 'PS256', 'ES256', 'EdDSA'];

/** The states of a key, in order. It is published in all of them. */
export const keyStates = ['waiting', 'signing', 'retired'] as const;

export interface SigningKey {
  kid: string;
  alg: KeyAlgorithm;
  privateKey: CryptoKey;
}

export interface KeyRing {
  /** The current signing key. */
  signingKey(alg: KeyAlgorithm): SigningKey;
  /** The published set: public members only (RFC 7517). */
  readonly jwks: { keys: JWK[] };
  /** Finds the published key that a JWT names. Each key is imported once after each reading of the ring. */
  readonly verificationKey: LocalJWKSet;
  /** The keys as an administrator sees them. */
  readonly keys: {
    kid: string;
    alg: KeyAlgorithm;
    state: (typeof keyStates)[number];
    createdAt: Date;
    activeAt: Date;
    expiresAt: Date | undefined;
  }[];
  /** The time of the database's clock, estimated since the last reading: no other clock is used (security F17). */
  now(): Date;
  /** Reads the ring again, and makes missing keys. */
  refresh(): Promise<void>;
  /** Adds a key for each algorithm, which signs after `lead` seconds. The old keys stay published until their last token has expired. */
  rotate(options: { lead: number; algorithms?: readonly KeyAlgorithm[] | undefined; by: Actor }): Promise<string[]>;
  /**
   * Does the same for each algorithm whose newest key is older than `interval` seconds by the database's time. Only one
   * instance rotates; the interval 0 means never.
   */
  rotateDue(options: { interval: number; lead: number }): Promise<string[]>;
  /**
   * Withdraws a key at once, for example after a leak: it is no longer published, signs nothing and verifies nothing.
   * @throws OAuthError not_found, or conflict for the signing key while no other key can replace it
   */
  withdraw(kid: string, by: Actor): Promise<void>;
}

// seconds, also in an emergency: every instance publishes a new key before any instance signs with it
const minimumLead = 2;

export interface KeyRingOptions {
  store: Store;
  secretBox: SecretBox;
  /** The service's lifetime of ID Tokens, in seconds. The lifetimes of clients are read from the database. */
  idTokenLifetime: number;
  /** Replaces `makeKeyPair`. */
  newKeyPair?: typeof makeKeyPair | undefined;
}

/** Makes an exportable key pair. RSA keys have 2048 bits. */
export function makeKeyPair(alg: KeyAlgorithm): Promise<GenerateKeyPairResult> {
  return generateKeyPair(alg, { extractable: true, modulusLength: 2048 });
}

interface NewPair extends GenerateKeyPairResult {
  alg: KeyAlgorithm;
}

/** The actor of scheduled rotations in the audit trail. */
const schedule: Actor = { actor: 'schedule' };

const dataOf = (kid: string) => associatedDataOf('signing_keys.private_key_encrypted', kid);

// seconds that a retired key stays published beyond the longest lifetime of an ID Token, for caches and clock differences
const retirementMargin = 3600;

/** Opens the ring. Of several instances that start on an empty ring, the first stores its keys, and the others read these. */
export async function openKeyRing({
  store,
  secretBox,
  idTokenLifetime,
  newKeyPair = makeKeyPair,
}: KeyRingOptions): Promise<KeyRing> {
  let rows: SigningKeyRow[] = [];
  let clockOffset = 0;
  let turns = 0;
  let lastTurn = 0;
  const opened = new Map<string, CryptoKey>();
  let jwks: { keys: JWK[] } = { keys: [] };
  let verificationKey = createLocalJWKSet(jwks);

  const now = () => Date.now() + clockOffset;
  const current = (alg: KeyAlgorithm) => rows.find((row) => row.alg === alg && row.activeAt.getTime() <= now());

  async function read(): Promise<void> {
    const turn = ++turns;
    const asked = Date.now();
    const found = await store.signingKeys.list();
    // the database read its clock between request and answer
    const offset = found.now.getTime() - (asked + Date.now()) / 2;
    for (const row of found.keys) {
      if (opened.has(row.kid)) continue;
      const jwk = JSON.parse(openKey(row)) as JWK;
      opened.set(row.kid, (await importJWK(jwk, row.alg)) as CryptoKey);
    }
    // an older reading may end after a newer one: it would restore a withdrawn key
    if (turn < lastTurn) return;
    lastTurn = turn;
    clockOffset = offset;
    rows = found.keys;
    jwks = { keys: rows.map((row) => row.publicJwk as JWK) };
    verificationKey = createLocalJWKSet(jwks);
    for (const kid of opened.keys()) if (!rows.some((row) => row.kid === kid)) opened.delete(kid);
  }

  function openKey(row: SigningKeyRow): string {
    try {
      return secretBox.open(row.privateKeyEncrypted, dataOf(row.kid)).toString();
    } catch (error) {
      throw new ConfigError(
        `The signing key ${row.kid} cannot be decrypted: its row in the database was altered. Restore it from a backup, or delete it.`,
        { cause: error },
      );
    }
  }

  /** Makes key pairs before the ring is locked, since an RSA pair takes a tenth of a second, and longer on a busy machine. */
  async function makePairs(algorithms: readonly KeyAlgorithm[]): Promise<NewPair[]> {
    const pairs: NewPair[] = [];
    for (const alg of algorithms) pairs.push({ alg, ...(await newKeyPair(alg)) });
    return pairs;
  }

  async function add(pairs: readonly NewPair[], lead: number, keys: Store['signingKeys']): Promise<string[]> {
    const kids: string[] = [];
    for (const { alg, publicKey, privateKey } of pairs) {
      const publicJwk = await exportJWK(publicKey);
      const kid = await calculateJwkThumbprint(publicJwk);
      await keys.deleteLater(alg, lead);
      await keys.insert({
        kid,
        alg,
        lead,
        publicJwk: { ...publicJwk, kid, alg, use: 'sig' },
        privateKeyEncrypted: secretBox.seal(JSON.stringify(await exportJWK(privateKey)), dataOf(kid)),
      });
      await keys.retire(alg, { lead, idTokenLifetime, margin: retirementMargin }, kid);
      kids.push(kid);
    }
    return kids;
  }

  /** Changes the ring under its lock, and records the audit event that `work` returns if it changed the ring. */
  async function change(
    by: Actor,
    work: (repositories: Repositories) => Promise<Pick<AuditEvent, 'type' | 'detail'> | undefined>,
  ): Promise<void> {
    await store.transaction(async (repositories) => {
      await repositories.signingKeys.lock();
      await repositories.signingKeys.deleteExpired();
      const done = await work(repositories);
      if (done) await repositories.auditEvents.insert({ ...done, ...by, outcome: 'success' });
    });
    await read();
  }

  const ring: KeyRing = {
    signingKey(alg) {
      const row = current(alg);
      if (!row) throw new Error(`no ${alg} key is active`);
      return { kid: row.kid, alg, privateKey: opened.get(row.kid)! };
    },
    get jwks() {
      return jwks;
    },
    get verificationKey() {
      return verificationKey;
    },
    get keys() {
      return rows.map((row) => ({
        kid: row.kid,
        alg: row.alg,
        state:
          row.activeAt.getTime() > now()
            ? ('waiting' as const)
            : current(row.alg) === row
              ? ('signing' as const)
              : ('retired' as const),
        createdAt: row.createdAt,
        activeAt: row.activeAt,
        expiresAt: row.expiresAt,
      }));
    },
    now: () => new Date(now()),
    async refresh() {
      await read();
      if (keyAlgorithms.every(current)) return;
      const pairs = await makePairs(keyAlgorithms.filter((alg) => !rows.some((row) => row.alg === alg)));
      await store.transaction(async ({ signingKeys }) => {
        await signingKeys.lock();
        // another instance may have made the keys meanwhile
        const { keys } = await signingKeys.list();
        const missing = pairs.filter(({ alg }) => !keys.some((row) => row.alg === alg));
        await add(missing, 0, signingKeys);
      });
      await read();
    },
    async rotate({ lead, algorithms = keyAlgorithms, by }) {
      const pairs = await makePairs(algorithms);
      let kids: string[] = [];
      await change(by, async ({ signingKeys }) => {
        kids = await add(pairs, Math.max(lead, minimumLead), signingKeys);
        return { type: 'keys.rotated', detail: { kids } };
      });
      return kids;
    },
    async rotateDue({ interval, lead }) {
      let kids: string[] = [];
      if (interval === 0) return kids;
      const pairs = await makePairs(await store.signingKeys.findDue(interval));
      if (pairs.length === 0) return kids;
      await change(schedule, async ({ signingKeys }) => {
        // another instance may have rotated meanwhile
        const due = await signingKeys.findDue(interval);
        const wanted = pairs.filter(({ alg }) => due.includes(alg));
        kids = await add(wanted, Math.max(lead, minimumLead), signingKeys);
        return kids.length > 0 ? { type: 'keys.rotated', detail: { kids } } : undefined;
      });
      return kids;
    },
    async withdraw(kid, by) {
      await read();
      const leaving = rows.find((row) => row.kid === kid);
      const next = rows.findLast((row) => row.alg === leaving?.alg && row.activeAt.getTime() > now());
      // after an immediate rotation the new key is about to sign
      const wait = next ? next.activeAt.getTime() - now() : Infinity;
      if (leaving && current(leaving.alg) === leaving && wait <= minimumLead * 1000) await delay(wait + 100);
      await change(by, async ({ signingKeys }) => {
        const found = await signingKeys.list();
        const key = found.keys.find((row) => row.kid === kid);
        if (!key) throw notFound('there is no such key');
        const signing = found.keys.find((row) => row.alg === key.alg && row.activeAt <= found.now);
        if (signing === key)
          throw conflict(`this key is active for ${key.alg}: rotate with immediate effect, then revoke it`);
        await signingKeys.delete(kid);
        // without its successor, the signing key has no end
        await signingKeys.keepNewest(key.alg);
        return { type: 'keys.withdrawn', detail: { kid, alg: key.alg } };
      });
    },
  };
  await ring.refresh();
  return ring;
}
