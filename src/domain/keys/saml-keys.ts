// Manages the keys that sign for SAML applications: RSA-3072 with a certificate of ten years, made at their first use, and replaced in steps (federation 9).
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { ConfigError } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { conflict, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { SamlKeyRow } from '../../repositories/saml/saml-keys.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { makeKeyWithCertificate } from '../../saml/certificates.ts';
import type { SigningKey } from '../../saml/signing.ts';

/** The states of a key, in order. It is published in all of them. */
export const samlKeyStates = ['waiting', 'signing', 'retired'] as const;

/** A key as an administrator sees it. */
export interface SamlKey {
  id: string;
  state: (typeof samlKeyStates)[number];
  /** In PEM. */
  certificate: string;
  createdAt: Date;
  /** Until when its certificate is valid. */
  validUntil: Date;
}

export interface SamlKeys {
  /** The one that signs is first. There is none before the first is needed. */
  list(): Promise<SamlKey[]>;
  /** The same, but makes the first key if there is none. */
  published(): Promise<SamlKey[]>;
  signing(): Promise<SigningKey>;
  /** Publishes another key, which does not sign yet unless it is the first. @throws OAuthError conflict if there are two */
  create(by: Actor): Promise<SamlKey[]>;
  /** Lets the published key sign. The former one stays published. @throws OAuthError not_found, conflict */
  activate(id: string, by: Actor): Promise<SamlKey[]>;
  /** Withdraws a key that does not sign. @throws OAuthError not_found, conflict */
  delete(id: string, by: Actor): Promise<SamlKey[]>;
}

/** Two are published during a change. */
export const mostSamlKeys = 2;
const dataOf = (id: string) => associatedDataOf('saml_keys.private_key_encrypted', id);

export function createSamlKeys({
  store,
  secretBox,
  issuer,
}: {
  store: Pick<Store, 'samlKeys' | 'transaction'>;
  secretBox: SecretBox;
  issuer: string;
}): SamlKeys {
  const opened = new Map<string, KeyObject>();
  let first: Promise<void> | undefined;

  /** Makes a key before the table is locked: that takes a second of a processor. */
  async function make(): Promise<Pick<SamlKeyRow, 'id' | 'certificate' | 'privateKeyEncrypted'>> {
    const { privateKey, certificate } = await makeKeyWithCertificate(new URL(issuer).hostname, new Date());
    const id = Buffer.from(new X509Certificate(certificate).fingerprint256.replaceAll(':', ''), 'hex').toString(
      'base64url',
    );
    const text = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    return { id, certificate, privateKeyEncrypted: secretBox.seal(text, dataOf(id)) };
  }

  /** Of several instances that need the first key at once, the first stores its key, and the others read it. */
  async function makeFirst(): Promise<void> {
    const key = await make();
    await store.transaction(async ({ samlKeys, auditEvents }) => {
      await samlKeys.lock();
      if ((await samlKeys.list()).length > 0) return;
      await samlKeys.insert(key, true);
      const detail = { key: key.id };
      await auditEvents.insert({ type: 'saml_key.created', actor: 'service', outcome: 'success', detail });
    });
  }

  async function rows(): Promise<SamlKeyRow[]> {
    const found = await store.samlKeys.list();
    if (found.length > 0) return found;
    first ??= makeFirst().finally(() => (first = undefined));
    await first;
    return store.samlKeys.list();
  }

  const shown = (found: readonly SamlKeyRow[]): SamlKey[] =>
    found.map(({ id, certificate, createdAt, activeAt }, index) => ({
      id,
      state: activeAt === undefined ? 'waiting' : index === 0 ? 'signing' : 'retired',
      certificate,
      createdAt,
      validUntil: new Date(new X509Certificate(certificate).validTo),
    }));

  function open({ id, privateKeyEncrypted }: SamlKeyRow): KeyObject {
    const known = opened.get(id);
    if (known) return known;
    try {
      const key = createPrivateKey(secretBox.open(privateKeyEncrypted, dataOf(id)).toString());
      opened.set(id, key);
      return key;
    } catch (error) {
      throw new ConfigError(
        `The SAML key ${id} cannot be decrypted: its row in the database was altered. Restore it from a backup, or delete it.`,
        { cause: error },
      );
    }
  }

  /** Changes the keys under their lock, and records what was done. */
  async function change(
    by: Actor,
    work: (keys: SamlKey[], repositories: Repositories) => Promise<Pick<AuditEvent, 'type' | 'detail'>>,
  ): Promise<SamlKey[]> {
    return store.transaction(async (repositories) => {
      const { samlKeys, auditEvents } = repositories;
      await samlKeys.lock();
      const done = await work(shown(await samlKeys.list()), repositories);
      await auditEvents.insert({ ...done, ...by, outcome: 'success' });
      return shown(await samlKeys.list());
    });
  }

  const found = (keys: readonly SamlKey[], id: string): SamlKey => {
    const key = keys.find((one) => one.id === id);
    if (!key) throw notFound('there is no such key');
    return key;
  };

  return {
    list: async () => shown(await store.samlKeys.list()),
    published: async () => shown(await rows()),
    async signing() {
      const [row] = await rows();
      return { certificate: row!.certificate, privateKey: open(row!) };
    },
    async create(by) {
      const key = await make();
      return change(by, async (keys, { samlKeys }) => {
        if (keys.length >= mostSamlKeys) throw conflict(refusal('saml-key.two', 'id'));
        await samlKeys.insert(key, keys.length === 0);
        return { type: 'saml_key.created', detail: { key: key.id } };
      });
    },
    activate: (id, by) =>
      change(by, async (keys, { samlKeys }) => {
        found(keys, id);
        if (!(await samlKeys.activate(id))) throw conflict(refusal('saml-key.active', 'id'));
        return { type: 'saml_key.activated', detail: { key: id } };
      }),
    delete: (id, by) =>
      change(by, async (keys, { samlKeys }) => {
        if (found(keys, id).state === 'signing') throw conflict(refusal('saml-key.signs', 'id'));
        await samlKeys.delete(id);
        return { type: 'saml_key.deleted', detail: { key: id } };
      }),
  };
}
