// Enrols an authenticator app: makes its secret, and stores it once the user has typed a code.
import type { FastifyRequest } from 'fastify';
import { newCodeSecret, readCode, stepOfCode, writtenSecret } from '../../crypto/one-time-codes.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { randomId } from '../../crypto/secrets.ts';
import { conflict } from '../../oauth/errors.ts';
import { qrCode, type QrCode } from '../../pages/qr-code.ts';
import type { Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import type { SecondFactorEnrolment } from '../enrolment.ts';
import { maxTotpAuthenticators, secretOf, totpKind } from './totp.ts';

/** How long the page that shows a new secret is good, in milliseconds. */
const setUpLifetime = 15 * 60_000;

/** An authenticator app that is not confirmed yet. */
export interface NewAuthenticator {
  /** In base32, in groups of four. */
  secret: string;
  /** What an app on the same device opens. */
  uri: string;
  qr: QrCode;
  /** A hidden field of the form, which only confirm() reads. */
  sealed: string;
}

interface State {
  id: string;
  secret: string;
  until: number;
}

type Confirmed =
  | { outcome: 'wrong'; again: NewAuthenticator }
  | { outcome: 'expired' }
  | { outcome: 'added'; recoveryCodes: string[] };

export type TotpEnrolment = ReturnType<typeof createTotpEnrolment>;

export function createTotpEnrolment(options: {
  store: Store;
  secretBox: SecretBox;
  secondFactorEnrolment: SecondFactorEnrolment;
  issuer: string;
}) {
  const { store, secretBox, secondFactorEnrolment } = options;
  const { host } = new URL(options.issuer);

  function shown(user: User, state: State): NewAuthenticator {
    const { text, uri } = writtenSecret(Buffer.from(state.secret, 'base64url'), host, user.username);
    const sealed = secretBox.seal(JSON.stringify(state), `authenticator of ${user.sub}`).toString('base64url');
    return { secret: text.match(/.{1,4}/g)!.join(' '), uri, qr: qrCode(uri), sealed };
  }

  async function readState(user: User, sealed: string): Promise<State | undefined> {
    try {
      const opened = secretBox.open(Buffer.from(sealed, 'base64url'), `authenticator of ${user.sub}`);
      const state = JSON.parse(opened.toString()) as State;
      return state.until > Date.now() ? state : undefined;
    } catch {
      return undefined;
    }
  }

  return {
    /** What a user needs to set up an app. Nothing is stored before confirm(). */
    begin(user: User): NewAuthenticator {
      const secret = newCodeSecret().toString('base64url');
      return shown(user, { id: randomId(), secret, until: Date.now() + setUpLifetime });
    },

    /**
     * Stores an app whose code the user typed, and recovery codes with the first second factor.
     * @returns the page's data again for a wrong code, `expired` for an old form, else the new recovery codes
     * @throws OAuthError conflict if the user has too many apps, or has this one
     */
    async confirm(
      request: FastifyRequest,
      user: User,
      { sealed, typed, name }: { sealed: string; typed: string; name: string },
    ): Promise<Confirmed> {
      const state = await readState(user, sealed);
      if (!state) return { outcome: 'expired' };
      const secret = Buffer.from(state.secret, 'base64url');
      const code = readCode(typed);
      const lastStep = code === undefined ? undefined : stepOfCode(secret, code, Date.now());
      if (lastStep === undefined) return { outcome: 'wrong', again: shown(user, state) };
      const { sub } = user;
      const { id } = state;
      const recoveryCodes = await store.transaction(async (repositories) => {
        await repositories.users.lock(sub);
        const present = await repositories.totpAuthenticators.list(sub);
        if (present.length >= maxTotpAuthenticators) throw conflict('there are too many authenticators');
        const secretEncrypted = secretBox.seal(secret, secretOf(id));
        if (!(await repositories.totpAuthenticators.insert({ id, sub, name, secretEncrypted, lastStep })))
          throw conflict('this authenticator is set up already');
        return secondFactorEnrolment.added(request, repositories, sub, { id, kind: totpKind, name });
      });
      return { outcome: 'added', recoveryCodes };
    },
  };
}
