// The key ring: signing keys made on first start, encrypted at rest, published before use and after retirement.
import { calculateJwkThumbprint, type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { ConfigError } from '../config.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Store } from '../repositories/index.ts';
import type { SigningKeyRow } from '../repositories/signing-keys.ts';

export type KeyAlgorithm = SigningKeyRow['alg'];
export const keyAlgorithms: readonly KeyAlgorithm[] = ['RS256', 'PS256', 'ES256', 'EdDSA'];

/** What becomes of a key: published, in use, published still. */
export const keyStates = ['waiting', 'signing', 'retired'] as const;

export interface SigningKey {
  kid: string;
  alg: KeyAlgorithm;
  privateKey: CryptoKey;
}

export interface KeyRing {
  /** The key that signs now. */
  signingKey(alg: KeyAlgorithm): SigningKey;
  /** The published set: public members only (RFC 7517). */
  readonly jwks: { keys: JWK[] };
  /** What an administrator sees. */
  readonly keys: {
    kid: string;
    alg: KeyAlgorithm;
    state: (typeof keyStates)[number];
    activeAt: Date;
    expiresAt: Date | undefined;
  }[];
  /** Reads the ring again, making what is missing. */
  refresh(): Promise<void>;
  /** Adds a key for each algorithm, which signs after `lead` seconds; the old ones stay published until their last token has expired. */
  rotate(options: { lead: number; algorithms?: readonly KeyAlgorithm[] }): Promise<string[]>;
}

// seconds: every instance publishes a new key before any signs with it, however urgent it is
const minimumLead = 2;

export interface KeyRingOptions {
  store: Store;
  secretBox: SecretBox;
  /** The service's life of an ID Token, in seconds; clients' own are looked up. */
  idTokenLifetime: number;
}

// seconds that a retired key stays published beyond the longest life of an ID Token, for caches and clocks
const retirementMargin = 3600;

/** Opens the ring; the first of several instances makes the first keys, the others read them. */
export async function openKeyRing({ store, secretBox, idTokenLifetime }: KeyRingOptions): Promise<KeyRing> {
  let rows: SigningKeyRow[] = [];
  let clockOffset = 0;
  const opened = new Map<string, CryptoKey>();
  let jwks: { keys: JWK[] } = { keys: [] };

  const now = () => Date.now() + clockOffset;
  const current = (alg: KeyAlgorithm) => rows.find((row) => row.alg === alg && row.activeAt.getTime() <= now());

  async function read(): Promise<void> {
    const found = await store.signingKeys.list();
    for (const row of found.keys) {
      if (opened.has(row.kid)) continue;
      const jwk = JSON.parse(openKey(row)) as JWK;
      opened.set(row.kid, (await importJWK(jwk, row.alg)) as CryptoKey);
    }
    clockOffset = found.now.getTime() - Date.now();
    rows = found.keys;
    jwks = { keys: rows.map((row) => row.publicJwk as JWK) };
    for (const kid of opened.keys()) if (!rows.some((row) => row.kid === kid)) opened.delete(kid);
  }

  function openKey(row: SigningKeyRow): string {
    try {
      return secretBox.open(row.privateKeyEncrypted, place(row.kid)).toString();
    } catch (error) {
      throw new ConfigError(
        'The setting SECRET_KEY is not the one that the keys in this database were encrypted under.',
        {
          cause: error,
        },
      );
    }
  }

  async function add(alg: KeyAlgorithm, lead: number, keys: Store['signingKeys']): Promise<string> {
    const pair = await generateKeyPair(alg, { extractable: true, modulusLength: 2048 });
    const publicKey = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(publicKey);
    await keys.deleteLater(alg, lead);
    await keys.insert({
      kid,
      alg,
      lead,
      publicJwk: { ...publicKey, kid, alg, use: 'sig' },
      privateKeyEncrypted: secretBox.seal(JSON.stringify(await exportJWK(pair.privateKey)), place(kid)),
    });
    await keys.retire(alg, { lead, idTokenLifetime, margin: retirementMargin }, kid);
    return kid;
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
        activeAt: row.activeAt,
        expiresAt: row.expiresAt,
      }));
    },
    async refresh() {
      await read();
      if (keyAlgorithms.every(current)) return;
      await store.transaction(async (repositories) => {
        await repositories.signingKeys.lock();
        const { keys } = await repositories.signingKeys.list();
        for (const alg of keyAlgorithms) {
          if (!keys.some((row) => row.alg === alg)) await add(alg, 0, repositories.signingKeys);
        }
      });
      await read();
    },
    async rotate({ lead, algorithms = keyAlgorithms }) {
      const kids = await store.transaction(async (repositories) => {
        await repositories.signingKeys.lock();
        await repositories.signingKeys.deleteExpired();
        const added: string[] = [];
        for (const alg of algorithms) added.push(await add(alg, Math.max(lead, minimumLead), repositories.signingKeys));
        return added;
      });
      await read();
      return kids;
    },
  };
  await ring.refresh();
  return ring;
}

function place(kid: string): string {
  return `signing_keys.private_key_encrypted.${kid}`;
}
