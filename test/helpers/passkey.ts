// Plays an authenticator of Web Authentication in software: creates credentials and signs with them, and deviates where a test asks for it.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { Page } from './user-agent.ts';

/** Values that an honest authenticator and browser would set otherwise. */
export interface Deviations {
  origin?: string;
  rpId?: string;
  type?: string;
  challenge?: string;
  /** The flags of the authenticator data: user present 1, user verified 4, backup eligible 8, backed up 16, with a credential 64. */
  flags?: number;
  signCount?: number;
  userHandle?: string | undefined;
  id?: string;
  /** Another key signs. */
  key?: KeyObject;
  attestation?: Buffer;
}

type Options = Record<string, unknown> & {
  challenge: string;
  rpId?: string;
  rp?: { id: string };
  user?: { id: string };
};

const text = (value: Buffer | string) => Buffer.from(value).toString('base64url');
const sha256 = (value: Buffer | string) => createHash('sha256').update(value).digest();

export class Authenticator {
  readonly credentialId = randomBytes(32);
  readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly origin: string;
  signCount = 0;
  /** User present and verified. */
  flags = 5;
  userHandle = '';

  /** @param origin of the page that its browser shows */
  constructor(origin: string) {
    this.origin = new URL(origin).origin;
  }

  /** The result of navigator.credentials.create(), as the script posts it. */
  create(options: Options, deviations: Deviations = {}): string {
    this.userHandle = options.user!.id;
    const { x, y } = this.keys.publicKey.export({ format: 'jwk' }) as { x: string; y: string };
    const key = cbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]),
    );
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.credentialId.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, this.credentialId, key]);
    const authData = this.authenticatorData(options.rp!.id, { flags: this.flags | 64, ...deviations }, attested);
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    return this.credential(deviations, {
      clientDataJSON: text(this.clientData('webauthn.create', options, deviations)),
      attestationObject: text(deviations.attestation ?? cbor(attestation)),
      transports: ['internal'],
    });
  }

  /** The result of navigator.credentials.get(). */
  get(options: Options, deviations: Deviations = {}): string {
    const clientData = this.clientData('webauthn.get', options, deviations);
    const authData = this.authenticatorData(options.rpId!, deviations);
    const signed = Buffer.concat([authData, sha256(clientData)]);
    return this.credential(deviations, {
      clientDataJSON: text(clientData),
      authenticatorData: text(authData),
      signature: text(sign('sha256', signed, deviations.key ?? this.keys.privateKey)),
      userHandle: 'userHandle' in deviations ? deviations.userHandle : this.userHandle,
    });
  }

  private credential(deviations: Deviations, response: Record<string, unknown>): string {
    const id = deviations.id ?? text(this.credentialId);
    return JSON.stringify({ id, rawId: id, type: 'public-key', response });
  }

  private clientData(type: string, { challenge }: Options, deviations: Deviations): string {
    return JSON.stringify({
      type: deviations.type ?? type,
      challenge: deviations.challenge ?? challenge,
      origin: deviations.origin ?? this.origin,
      crossOrigin: false,
    });
  }

  private authenticatorData(rpId: string, deviations: Deviations, attested = Buffer.alloc(0)): Buffer {
    const head = Buffer.alloc(5);
    head[0] = deviations.flags ?? this.flags;
    head.writeUInt32BE(deviations.signCount ?? this.signCount, 1);
    return Buffer.concat([sha256(deviations.rpId ?? rpId), head, attested]);
  }
}

/** The form #passkey of a page: the options for the browser, and the fields sent with its answer. */
export function passkeyForm(page: Page): { action: string; options: Options; fields: Record<string, string> } {
  const form = /<form id="passkey"[^>]*action="([^"]*)" data-options="([^"]*)"[^>]*>([^]*?)<\/form>/.exec(page.body);
  if (!form) throw new Error(`no passkey is asked for on ${page.url} (${page.status}): ${page.body.slice(0, 2000)}`);
  const inputs = form[3]!.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return {
    action: form[1]!,
    options: JSON.parse(form[2]!.replaceAll('&quot;', '"').replaceAll('&amp;', '&')) as Options,
    fields: Object.fromEntries([...inputs].map(([, name, value]) => [name!, value!])),
  };
}

/** As much of RFC 8949 as an authenticator needs. */
export function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  if (value instanceof Map)
    return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, member]) => [cbor(key), cbor(member)])]);
  throw new Error('nothing that an authenticator says');
}

function head(major: number, count: number): Buffer {
  if (count < 24) return Buffer.of((major << 5) | count);
  if (count < 256) return Buffer.of((major << 5) | 24, count);
  return Buffer.of((major << 5) | 25, count >> 8, count & 255);
}
