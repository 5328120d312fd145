// Creates and verifies passkeys (Web Authentication): stateless challenges that are good once, with the limits of passwords.
import { randomBytes, randomFillSync } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type MadeCredential,
  PasskeyRefused,
  readAuthentication,
  readRegistration,
  type RelyingParty,
  signatureAlgorithms,
  verifyAuthentication,
  verifyRegistration,
} from '../../crypto/passkey.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { equalDigests, equalSecrets } from '../../crypto/secrets.ts';
import type { Store } from '../../repositories/store.ts';
import type { OwnedPasskey, Passkey } from '../../repositories/second-factors/passkeys.ts';
import type { User } from '../../repositories/users/users.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { CountTry } from '../count-try.ts';

/** How long a challenge is good, in seconds. */
const challengeLifetime = 5 * 60;
// longer than its lifetime, since the database's clock may differ from the instance's
const challengeMemory = 4 * challengeLifetime;
/** The most characters of a browser's answer; one without attestation needs a tenth. */
export const maxCredentialLength = 16_384;
/** Of each user. */
export const maxPasskeys = 20;

/** The purpose of a challenge: its answer is good for nothing else. */
export interface ChallengeBinding {
  purpose: 'sign-in' | 'second-factor' | 'add';
  /** The session, the user of the second step, or the invitation. */
  of?: string | undefined;
}

export type PasskeyAnswer =
  /** `amr` by RFC 8176; with `mfa` if the authenticator verified the user. */
  | { outcome: 'right'; sub: string; passkey: string; amr: string[] }
  /** Unknown, wrong, of a disabled account, replayed, or copied: the answer does not tell. `reason` is for the audit trail. */
  | { outcome: 'wrong'; sub: string | undefined; passkey?: string | undefined; reason: string }
  | { outcome: 'expired' }
  /** Too many from this network; `wait` in seconds. */
  | { outcome: 'throttled'; wait: number };

/** By which an authenticator knows the user (Web Authentication 5.4.3). */
export const newUserHandle = (): Buffer => randomBytes(64);

export type MadeAnswer = { outcome: 'made'; credential: MadeCredential } | { outcome: 'wrong' | 'expired' };

export interface PasskeysOptions {
  store: Store;
  secretBox: SecretBox;
  sessions: BrowserSessions;
  countTry: CountTry;
  issuer: string;
  /** Whether the issuer is http on a host that is no loopback. */
  unencrypted: boolean;
  /** The time that all instances share. */
  now: () => Date;
}

export type Passkeys = ReturnType<typeof createPasskeys>;

export function createPasskeys(options: PasskeysOptions) {
  const { store, secretBox, sessions, countTry, now } = options;
  const { origin, hostname } = new URL(options.issuer);
  // an IP address is no domain, and so no RP ID (Web Authentication 4); browsers have no passkeys at an address without encryption
  const unavailable: 'http' | 'address' | undefined = options.unencrypted
    ? 'http'
    : isIP(hostname.replace(/[[\]]/g, '')) === 0
      ? undefined
      : 'address';
  const relyingParty: RelyingParty | undefined = unavailable === undefined ? { id: hostname, origin } : undefined;

  /** 16 random bytes, their expiry in seconds, and a MAC that binds both to the browser and the purpose. */
  function newChallenge(browserHash: Buffer, binding: ChallengeBinding): string {
    const head = randomFillSync(Buffer.alloc(20), 0, 16);
    head.writeUInt32BE(Math.floor(now().getTime() / 1000) + challengeLifetime, 16);
    const mac = secretBox.mac(...boundTo(head, browserHash, binding));
    return Buffer.concat([head, Buffer.from(mac, 'base64url')]).toString('base64url');
  }

  function verdictOn(challenge: string, browserHash: Buffer | undefined, binding: ChallengeBinding) {
    const bytes = Buffer.from(challenge, 'base64url');
    if (!browserHash || bytes.length !== 52 || bytes.toString('base64url') !== challenge) return 'foreign';
    const head = bytes.subarray(0, 20);
    const mac = bytes.subarray(20).toString('base64url');
    if (!secretBox.macs(...boundTo(head, browserHash, binding)).some((own) => equalSecrets(own, mac))) return 'foreign';
    return head.readUInt32BE(16) * 1000 > now().getTime() ? 'good' : 'late';
  }

  /** Verifies the challenge of an answer, and remembers which it was and whether it came too late. */
  function challengeCheck(request: FastifyRequest, binding: ChallengeBinding) {
    const browserHash = sessions.browserHash(request);
    const seen = { challenge: '', late: false };
    const isChallenge = (challenge: string): boolean => {
      const verdict = verdictOn(challenge, browserHash, binding);
      seen.challenge = challenge;
      seen.late = verdict === 'late';
      return verdict === 'good';
    };
    return { seen, isChallenge };
  }

  return {
    /** False if no browser creates passkeys for the base address. */
    available: relyingParty !== undefined,
    /** Why: its host is an IP address, or it is http on a host that is no loopback. */
    unavailable,

    /**
     * The options of navigator.credentials.create(), as JSON (Web Authentication 5.4).
     * @param of the session or invitation in which the user creates the passkey
     * @throws Error if not available
     */
    async creationOptions(request: FastifyRequest, reply: FastifyReply, user: User, of: string): Promise<string> {
      const [handle, present] = await Promise.all([
        store.passkeys.userHandle(user.sub, newUserHandle()),
        store.passkeys.list(user.sub),
      ]);
      const name = user.claims['name'];
      const named = { username: user.username, name: typeof name === 'string' ? name : '', handle };
      return this.optionsFor(request, reply, named, of, present);
    },

    /** The same for a user who is made with the passkey, and then gets the handle. @throws Error if not available */
    optionsFor(
      request: FastifyRequest,
      reply: FastifyReply,
      user: { username: string; name: string; handle: Buffer },
      of: string,
      present: readonly Passkey[] = [],
    ): string {
      const browserHash = sessions.ensureBrowserHash(request, reply);
      return JSON.stringify({
        rp: { id: relyingParty!.id, name: relyingParty!.id },
        user: { id: user.handle.toString('base64url'), name: user.username, displayName: user.name || user.username },
        challenge: newChallenge(browserHash, { purpose: 'add', of }),
        pubKeyCredParams: signatureAlgorithms.map((alg) => ({ type: 'public-key', alg })),
        timeout: challengeLifetime * 1000,
        excludeCredentials: present.map(descriptor),
        // a sign-in by passkey needs no username and no other factor: the passkey is discoverable and verifies the user
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
        attestation: 'none',
      });
    },

    /**
     * The options of navigator.credentials.get(), as JSON (Web Authentication 5.5). Nothing is stored.
     * @param of the passkeys of the user, if the user is known
     */
    requestOptions(
      request: FastifyRequest,
      reply: FastifyReply,
      binding: ChallengeBinding,
      of?: readonly Passkey[],
    ): string | undefined {
      if (!relyingParty) return undefined;
      return JSON.stringify({
        challenge: newChallenge(sessions.ensureBrowserHash(request, reply), binding),
        rpId: relyingParty.id,
        timeout: challengeLifetime * 1000,
        userVerification: binding.purpose === 'sign-in' ? 'required' : 'preferred',
        ...(of && { allowCredentials: of.map(descriptor) }),
      });
    },

    /** Verifies a new passkey, and uses up its challenge. @param of as for creationOptions() */
    async checkMade(request: FastifyRequest, text: string, of: string): Promise<MadeAnswer> {
      const response = readRegistration(text);
      if (!response || !relyingParty) return { outcome: 'wrong' };
      const { seen, isChallenge } = challengeCheck(request, { purpose: 'add', of });
      try {
        const credential = await verifyRegistration(relyingParty, response, isChallenge);
        if (!(await store.passkeys.claimChallenge(seen.challenge, challengeMemory))) return { outcome: 'wrong' };
        return { outcome: 'made', credential };
      } catch (error) {
        if (!(error instanceof PasskeyRefused)) throw error;
        request.log.info({ reason: error.message }, 'a new passkey was refused');
        return { outcome: seen.late ? 'expired' : 'wrong' };
      }
    },

    /**
     * Verifies a signature, uses up its challenge and records the use: of two equal answers, on any instances, one is right. A refusal
     * is counted when this returns.
     * @param owner the user whose passkey it has to be, if known
     * @throws DatabaseUnavailable: a try that cannot be counted is not verified
     */
    async check(
      request: FastifyRequest,
      text: string,
      binding: ChallengeBinding,
      owner?: string,
    ): Promise<PasskeyAnswer> {
      const response = readAuthentication(text);
      const found = response && (await store.passkeys.find(Buffer.from(response.id, 'base64url')));
      const { wait } = await countTry(request, found?.sub);
      if (wait > 0) return { outcome: 'throttled', wait };
      const wrong = (reason: string): PasskeyAnswer => ({
        outcome: 'wrong',
        sub: found?.sub ?? owner,
        passkey: found?.id,
        reason,
      });
      if (!relyingParty || !response) return wrong('unreadable');
      if (!found || (owner !== undefined && owner !== found.sub)) return wrong('unknown');
      if (!isOf(found, response.response.userHandle, owner)) return wrong('user handle');
      const { seen, isChallenge } = challengeCheck(request, binding);
      try {
        const only = binding.purpose === 'sign-in';
        const use = await verifyAuthentication(relyingParty, response, found, isChallenge, only);
        const fault = await store.transaction(async ({ passkeys, usedForms }) => {
          if (!(await passkeys.claimChallenge(seen.challenge, challengeMemory))) return 'replayed';
          if (!(await passkeys.use(found.id, use))) return 'sign count';
          await usedForms.keep(sessions.formHash(request));
          return undefined;
        });
        if (fault !== undefined) return wrong(fault);
        if (!found.enabled) return wrong('disabled');
        return { outcome: 'right', sub: found.sub, passkey: found.id, amr: methods(found, use.userVerified) };
      } catch (error) {
        if (!(error instanceof PasskeyRefused)) throw error;
        request.log.info({ reason: error.message }, 'a passkey was refused');
        return seen.late ? { outcome: 'expired' } : wrong('signature');
      }
    },
  };
}

const boundTo = (head: Buffer, browserHash: Buffer, { purpose, of }: ChallengeBinding): [string, ...string[]] => [
  'passkey',
  head.toString('base64url'),
  browserHash.toString('base64url'),
  purpose,
  of ?? '',
];

const descriptor = ({ credentialId, transports }: Passkey) => ({
  type: 'public-key',
  id: credentialId.toString('base64url'),
  ...(transports.length > 0 && { transports }),
});

/** Web Authentication 7.2 step 6: without a username the user handle names the user. */
function isOf(passkey: OwnedPasskey, handle: string | undefined, owner: string | undefined): boolean {
  if (handle === undefined) return owner !== undefined;
  return equalDigests(Buffer.from(handle, 'base64url'), passkey.userHandle);
}

/** RFC 8176: a key that can be copied to other devices is a software key. */
function methods({ backupEligible }: Passkey, userVerified: boolean): string[] {
  return [backupEligible ? 'swk' : 'hwk', 'user', ...(userVerified ? ['mfa'] : [])];
}
