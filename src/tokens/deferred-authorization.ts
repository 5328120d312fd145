// Makes the codes of a deferred authorization: the client polls with one, and a user or an administrator decides. They find it by the other, or in their account.
import type { SecretBox } from '../crypto/secret-box.ts';
import { newOpaqueToken } from './opaque-token.ts';
import { type CodePurpose, newVerificationCode, verificationCodeHash } from './verification-code.ts';

/** Seconds between two polls, and how much each early poll lengthens them (RFC 8628 3.5). */
export const polls = { interval: 5, slowDown: { by: 5, most: 60 } } as const;

/** The values to store. */
export interface DeferredCodes {
  codeHash: Buffer;
  shownCodeHash: Buffer;
  /** In seconds. */
  interval: number;
  lifetime: number;
}

interface Kind {
  /** The code with which the client polls. */
  code: 'device_code' | 'registration_code';
  /** The code that the page asks for. */
  shown: 'user_code' | 'verification_code';
  page: string;
  /** In seconds. */
  lifetime: number;
}

const purposes = { user_code: 'user code', verification_code: 'verification code' } satisfies Record<
  Kind['shown'],
  CodePurpose
>;

/**
 * Stores an authorization that waits for a decision under two new codes.
 * @param store stores the codes; `taken` if another authorization has the shown code, which happens once in billions
 * @returns its outcome, and the body that the client gets (RFC 8628 3.2)
 */
export async function deferAuthorization<Outcome extends string>(
  secretBox: SecretBox,
  { code, shown, page, lifetime }: Kind,
  store: (codes: DeferredCodes) => Promise<Outcome | 'taken'>,
): Promise<{ outcome: Outcome; body: Record<string, unknown> }> {
  const { token, hash: codeHash } = newOpaqueToken(code);
  const { interval } = polls;
  for (;;) {
    const shownCode = newVerificationCode();
    const shownCodeHash = verificationCodeHash(secretBox, purposes[shown], shownCode);
    const outcome = await store({ codeHash, shownCodeHash, interval, lifetime });
    if (outcome === 'taken') continue;
    const body = {
      [code]: token,
      [shown]: shownCode,
      verification_uri: page,
      verification_uri_complete: `${page}?${shown}=${shownCode}`,
      expires_in: lifetime,
      interval,
    };
    return { outcome, body };
  }
}

/** The codes of a request that its user finds in the account: only the client has a code. */
export interface DeferredRequest extends Omit<DeferredCodes, 'shownCodeHash'> {
  token: string;
  /** The body that the client gets (OpenID Connect CIBA Core 7.3). */
  body: Readonly<Record<string, unknown>>;
}

/** @param lifetime in seconds */
export function deferRequest(lifetime: number): DeferredRequest {
  const { token, hash: codeHash } = newOpaqueToken('auth_req_id');
  const { interval } = polls;
  return { token, codeHash, interval, lifetime, body: { auth_req_id: token, expires_in: lifetime, interval } };
}
