// Makes and reads the state of a sign-in to a protected site. It is sealed and bound to host, client and browser, so that nothing is stored for a visitor.
import type { SecretBox } from '../../crypto/secret-box.ts';
import { digest, randomSecret } from '../../crypto/secrets.ts';
import { codeChallenge } from '../../oauth/pkce.ts';
import { callbackOf } from '../../rules/sites/addresses.ts';
import type { OriginalRequest } from '../../rules/sites/original-request.ts';

/** The sign-in as its state keeps it. */
interface SignIn {
  /** Path and query at which the browser asked. */
  target: string;
  verifier: string;
  /** Milliseconds since 1970. */
  until: number;
}

/** Where a sign-in may be answered. */
export interface SignInPlace {
  host: string;
  clientId: string;
  /** The value of the browser's cookie. */
  browser: string;
}

const lifetime = 3600_000; // milliseconds
/** Longer addresses would exceed what the sign-in pages can carry: the user then lands on the site's first page. */
const maxTarget = 2000;

const browserForm = /^[A-Za-z0-9_-]{43}$/;

/** The value of a browser's cookie: that of an earlier sign-in in the same browser, so that several windows can sign in at once. */
export const browserOf = (sent: string | undefined): string =>
  sent !== undefined && browserForm.test(sent) ? sent : randomSecret();

const boundTo = ({ host, clientId, browser }: SignInPlace): string =>
  `site-sign-in\0${host}\0${clientId}\0${digest('site-browser', browser).toString('base64url')}`;

/** The address at which the browser signs in, and which it leaves for the callback of the site. */
export function signInAddress(
  secretBox: Pick<SecretBox, 'seal'>,
  issuer: string,
  place: SignInPlace,
  { path, query }: Pick<OriginalRequest, 'path' | 'query'>,
): string {
  const asked = path + query;
  const target = asked.length <= maxTarget ? asked : '/';
  const verifier = randomSecret();
  const signIn: SignIn = { target, verifier, until: Date.now() + lifetime };
  const parameters = {
    client_id: place.clientId,
    redirect_uri: callbackOf(place.host),
    response_type: 'code',
    scope: 'openid',
    state: secretBox.seal(JSON.stringify(signIn), boundTo(place)).toString('base64url'),
    code_challenge: codeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  return `${issuer}/authorize?${new URLSearchParams(parameters).toString()}`;
}

/** Reads a state; undefined if it is of another host, client or browser, or too old. */
export function readState(
  secretBox: Pick<SecretBox, 'open'>,
  place: SignInPlace,
  state: string,
): Pick<SignIn, 'target' | 'verifier'> | undefined {
  if (!/^[A-Za-z0-9_-]{1,8192}$/.test(state) || !browserForm.test(place.browser)) return undefined;
  try {
    const signIn = JSON.parse(secretBox.open(Buffer.from(state, 'base64url'), boundTo(place)).toString()) as SignIn;
    return signIn.until > Date.now() ? signIn : undefined;
  } catch {
    return undefined;
  }
}
