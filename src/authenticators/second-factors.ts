// The second factors of people: setting up an authenticator, recovery codes, and the one way to check a code, with its limits (RFC 6238).
import type { FastifyRequest } from 'fastify';
import { newCodeSecret, readCode, stepOfCode, writtenSecret } from '../crypto/one-time-codes.ts';
import { randomId } from '../crypto/secrets.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { conflict } from '../oauth/errors.ts';
import type { Repositories, Store } from '../repositories/store.ts';
import type { User } from '../repositories/users/users.ts';
import { newRecoveryCode, readRecoveryCode, recoveryCodeCount, recoveryCodeHash } from '../tokens/recovery-code.ts';
import type { AuditTrail } from '../server/audit.ts';
import type { KnownBrowsers } from '../browser/device-cookie.ts';
import { accessNotice } from '../browser/security-notification.ts';
import { languagesOf } from '../server/accept-language.ts';
import { qrCode, type QrCode } from '../pages/qr-code.ts';

/** Of each person. */
export const mostAuthenticators = 10;
/** How long the page that shows a new secret is good, in milliseconds. */
const setUpLifetime = 15 * 60_000;
/** Wrong codes in a row before the first pause, where wrong passwords have no limit: six digits are guessed sooner. */
const freeFailures = 10;

/** An authenticator that is not confirmed yet. */
export interface NewAuthenticator {
  /** In base32, in groups of four. */
  secret: string;
  /** What an authenticator on the same device opens. */
  uri: string;
  qr: QrCode;
  /** Goes along in the form, and is read by confirm() alone. */
  sealed: string;
}

export interface SecondFactorOptions {
  store: Store;
  secretBox: SecretBox;
  audit: AuditTrail;
  knownBrowsers: KnownBrowsers;
  issuer: string;
  /** Failures in a row before an account's first pause; 0 for no limit. */
  freeFailures: number;
}

export type SecondFactors = ReturnType<typeof createSecondFactors>;

export function createSecondFactors(options: SecondFactorOptions) {
  const { store, secretBox, audit, knownBrowsers } = options;
  const { host } = new URL(options.issuer);
  const free = options.freeFailures || freeFailures;
  const placeOf = (id: string) => `authenticators.secret_encrypted.${id}`;

  /** True when the code is good, which it is once. */
  async function takeCode(sub: string, code: string): Promise<boolean> {
    for (const { id, secretEncrypted } of await store.authenticators.list(sub)) {
      const step = stepOfCode(await secretBox.open(secretEncrypted, placeOf(id)), code, Date.now());
      if (step !== undefined && (await store.authenticators.use(id, step))) return true;
    }
    return false;
  }

  async function takeRecoveryCode(request: FastifyRequest, sub: string, code: string): Promise<boolean> {
    return store.transaction(async (repositories) => {
      if (!(await repositories.recoveryCodes.use(recoveryCodeHash(sub, code), sub))) return false;
      const detail = { left: await repositories.recoveryCodes.count(sub) };
      const event = { type: 'user.recovery_code_used', outcome: 'success', actor: sub, sub, detail } as const;
      await audit(request, event, repositories);
      return true;
    });
  }

  const writeCodes = async ({ recoveryCodes }: Repositories, sub: string): Promise<string[]> => {
    const codes = Array.from({ length: recoveryCodeCount }, newRecoveryCode);
    await recoveryCodes.replace(
      sub,
      codes.map((code) => recoveryCodeHash(sub, code)),
    );
    return codes;
  };

  return {
    /**
     * Checks what somebody typed after the password: a code of an authenticator, or a recovery code. Wrong ones count against the
     * account as wrong passwords do, and with them come the same pauses; whoever asks cannot tell a pause from a wrong code. What others
     * get wrong does not hold up the person in a known browser (security R63), and the person hears of it once a pause begins.
     */
    async check(request: FastifyRequest, sub: string, typed: string): Promise<boolean> {
      const account = { sub, name: '', secondFactor: true } as const;
      const browser = knownBrowsers.hash(request);
      const known = browser && (await store.knownBrowsers.knows(browser, sub, free)) ? browser : undefined;
      const failures = await (known
        ? store.knownBrowsers.reserve(known, sub, free)
        : store.signInFailures.reserve(account, free));
      if (failures === 0) {
        await audit(request, { type: 'user.locked_out', outcome: 'failure', sub, detail: { second_factor: true } });
        return false;
      }
      const [code, recovery] = [readCode(typed), readRecoveryCode(typed)];
      const right =
        (code !== undefined && (await takeCode(sub, code))) ||
        (recovery !== undefined && (await takeRecoveryCode(request, sub, recovery)));
      // what a known browser counted goes as the sign-in remembers it anew
      if (right) await (known ? store.signInFailures.reopen(account, free) : store.signInFailures.forget(account));
      else if (failures === free) await store.mails.notify(accessNotice('second-step-failed', request, sub));
      return right;
    },

    /** What a person needs to set up an authenticator: nothing is stored before confirm(). */
    begin(user: User): NewAuthenticator {
      const secret = newCodeSecret();
      const state = { id: randomId(), secret: secret.toString('base64url'), until: Date.now() + setUpLifetime };
      return shown(user, state);
    },

    /**
     * Stores an authenticator whose code was typed, and with the first second factor recovery codes.
     * @returns the page's data again for a wrong code, `expired` for a form that is too old, else the new recovery codes if there are any
     * @throws OAuthError conflict where there are too many, or it is there already
     */
    async confirm(
      request: FastifyRequest,
      user: User,
      sealed: string,
      typed: string,
      name: string,
    ): Promise<
      | { outcome: 'wrong'; again: NewAuthenticator }
      | { outcome: 'expired' }
      | { outcome: 'added'; recoveryCodes: string[] }
    > {
      const state = await readState(user, sealed);
      if (!state) return { outcome: 'expired' };
      const secret = Buffer.from(state.secret, 'base64url');
      const code = readCode(typed);
      const step = code === undefined ? undefined : stepOfCode(secret, code, Date.now());
      if (step === undefined) return { outcome: 'wrong', again: shown(user, state) };
      const { sub } = user;
      const { id } = state;
      const recoveryCodes = await store.transaction(async (repositories) => {
        await repositories.users.lock(sub);
        const present = await repositories.authenticators.list(sub);
        if (present.length >= mostAuthenticators) throw conflict('there are too many authenticators');
        const secretEncrypted = secretBox.seal(secret, placeOf(id));
        if (!(await repositories.authenticators.insert({ id, sub, name, secretEncrypted, lastStep: step })))
          throw conflict('this authenticator is set up already');
        return this.added(request, repositories, sub, { id, kind: 'authenticator', name });
      });
      return { outcome: 'added', recoveryCodes };
    },

    /**
     * In the transaction that stores a second factor and holds the user's row: records it, and makes recovery codes where there are none.
     * @returns the new recovery codes, which are not seen again; none where there are some
     */
    async added(
      request: FastifyRequest,
      repositories: Repositories,
      sub: string,
      { id, ...detail }: { id: string; kind: string; name: string },
    ): Promise<string[]> {
      // one that no sign-in would ask for protects nothing (security R127)
      if (!(await repositories.secondFactors.list(sub)).some((factor) => factor.id === id))
        throw new Error(`a second factor of the kind ${detail.kind} is not among those that are asked for`);
      const event = { type: 'user.second_factor_added', outcome: 'success', actor: sub, sub, detail } as const;
      await audit(request, { ...event, languages: languagesOf(request) }, repositories);
      if ((await repositories.recoveryCodes.count(sub)) > 0) return [];
      // another address that somebody wanted who showed the password alone
      await repositories.mailedLinks.takeBackChanges(sub);
      return writeCodes(repositories, sub);
    },

    /** New recovery codes in the place of those before; none for somebody without a second factor. */
    renewRecoveryCodes: (request: FastifyRequest, sub: string): Promise<string[]> =>
      store.transaction(async (repositories) => {
        await repositories.users.lock(sub);
        if (!(await repositories.secondFactors.standing(sub))?.enrolled) return [];
        await audit(
          request,
          {
            ...{ type: 'user.recovery_codes_renewed', outcome: 'success', actor: sub, sub },
            languages: languagesOf(request),
          },
          repositories,
        );
        return writeCodes(repositories, sub);
      }),
  };

  interface State {
    id: string;
    secret: string;
    until: number;
  }

  function shown(user: User, state: State): NewAuthenticator {
    const { text, uri } = writtenSecret(Buffer.from(state.secret, 'base64url'), host, user.username);
    const sealed = secretBox.seal(JSON.stringify(state), `authenticator of ${user.sub}`).toString('base64url');
    return { secret: text.match(/.{1,4}/g)!.join(' '), uri, qr: qrCode(uri), sealed };
  }

  async function readState(user: User, sealed: string): Promise<State | undefined> {
    try {
      const opened = await secretBox.open(Buffer.from(sealed, 'base64url'), `authenticator of ${user.sub}`);
      const state = JSON.parse(opened.toString()) as State;
      return state.until > Date.now() ? state : undefined;
    } catch {
      return undefined;
    }
  }
}
