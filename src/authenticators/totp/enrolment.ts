// Enrols an authenticator app: makes its secret, and stores it once the user has typed a code.
import { newCodeSecret, readCode, stepOfCode, writtenSecret } from '../../crypto/one-time-codes.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { randomId } from '../../crypto/secrets.ts';
import { conflict } from '../../oauth/errors.ts';
import { qrCode } from '../../pages/qr-code.ts';
import type { Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import type { EnrolmentView, SignInEnrolment } from '../authenticator.ts';
import type { SecondFactorEnrolment } from '../enrolment.ts';

/** How the admin API and the audit trail name an authenticator app. */
export const totpKind = 'authenticator';
/** Of each user. */
export const maxTotpAuthenticators = 10;

/** The associated data of an app's sealed secret. @param id of the app */
export const secretOf = (id: string): string => `authenticators.secret_encrypted.${id}`;

/** How long the page that shows a new secret is good, in milliseconds. */
const setUpLifetime = 15 * 60_000;

/** The most characters of an app's name. */
const maxName = 60;

/** An app that is not confirmed yet. The form has it sealed, so nothing is stored before finish(). */
interface State {
  id: string;
  secret: string;
  until: number;
}

export function createTotpEnrolment(options: {
  store: Store;
  secretBox: SecretBox;
  secondFactorEnrolment: SecondFactorEnrolment;
  issuer: string;
}): SignInEnrolment {
  const { store, secretBox, secondFactorEnrolment } = options;
  const { host } = new URL(options.issuer);

  function begin(user: User): EnrolmentView {
    const secret = newCodeSecret().toString('base64url');
    return show(user, { id: randomId(), secret, until: Date.now() + setUpLifetime });
  }

  function show(user: User, state: State): EnrolmentView {
    const { text, uri } = writtenSecret(Buffer.from(state.secret, 'base64url'), host, user.username);
    const sealed = secretBox.seal(JSON.stringify(state), `authenticator of ${user.sub}`).toString('base64url');
    const data = { secret: text.match(/.{1,4}/g)!.join(' '), uri, qr: qrCode(uri) };
    return { page: 'account-authenticator', data, hidden: { set_up: sealed } };
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
    path: '/login/authenticator',
    fields: { set_up: 1000, code: 100, name: 200 },
    begin,
    /** @throws OAuthError conflict if the user has too many apps, or has this one */
    async finish(request, user, { set_up: sealed = '', code: typed = '', name: typedName }) {
      const name = nameOf(typedName);
      const refused = ({ data, ...view }: EnrolmentView, problem: 'expired' | 'code') =>
        ({ outcome: 'refused', view: { ...view, data: { ...data, problem, name } } }) as const;
      const state = await readState(user, sealed);
      if (!state) return refused(begin(user), 'expired');
      const secret = Buffer.from(state.secret, 'base64url');
      const code = readCode(typed);
      const lastStep = code === undefined ? undefined : stepOfCode(secret, code, Date.now());
      if (lastStep === undefined) return refused(show(user, state), 'code');
      const { sub } = user;
      const { id } = state;
      const recoveryCodes = await store.transaction(async (repositories) => {
        await repositories.users.lock(sub);
        const present = await repositories.totpAuthenticators.list(sub);
        if (present.length >= maxTotpAuthenticators) throw conflict('the account has too many authenticator apps');
        const secretEncrypted = secretBox.seal(secret, secretOf(id));
        if (!(await repositories.totpAuthenticators.insert({ id, sub, name, secretEncrypted, lastStep })))
          throw conflict('this authenticator app is already set up');
        return secondFactorEnrolment.added(request, repositories, sub, { id, kind: totpKind });
      });
      return { outcome: 'added', amr: ['otp', 'mfa'], recoveryCodes };
    },
  };
}

/** The name of an app, from what the user typed. */
function nameOf(typed: string | undefined): string {
  return [...(typed ?? '').replace(/\s+/g, ' ').trim()].slice(0, maxName).join('').slice(0, maxName);
}
