// Derives how and when a user authenticated: the authentication context class (acr) from the authentication methods (amr), and auth_time.

/** A level of authentication. */
interface Level {
  /** The acr value: one of the service's own, or one of OpenID Connect Extended Authentication Profile 1.0. */
  acr: string;
  /** The amr values that reach the level (RFC 8176): all values of one of these lists. */
  amr: readonly (readonly string[])[];
}

/** From the weakest to the strongest. A sign-in that reaches a level also reaches the weaker ones. */
const levels: readonly Level[] = [
  // `fed` is our word for a sign-in by a connection
  { acr: 'urn:gatehouse:acr:password', amr: [['pwd'], ['fed'], ['mfa']] },
  { acr: 'urn:gatehouse:acr:mfa', amr: [['mfa']] },
  // a passkey that verified the user, or a passkey beside a password: a phishing site cannot use the response
  {
    acr: 'phr',
    amr: [
      ['mfa', 'swk'],
      ['mfa', 'hwk'],
    ],
  },
  // the private key cannot leave the device
  { acr: 'phrh', amr: [['mfa', 'hwk']] },
];

/** Any two factors: what the service asks for when it requires a second factor. */
export const multiFactor = 'urn:gatehouse:acr:mfa';

/** Discovery's acr_values_supported. */
export const acrValues: readonly string[] = levels.map(({ acr }) => acr);

const reached = (amr: readonly string[]): Level[] =>
  levels.filter((level) => level.amr.some((methods) => methods.every((method) => amr.includes(method))));

/** Whether a sign-in can reach none of these levels without a passkey. */
export function needsPasskey(wanted: readonly string[]): boolean {
  const ofKeys = ({ amr }: Level) => amr.every((methods) => methods.includes('swk') || methods.includes('hwk'));
  return wanted.every((acr) => levels.some((level) => level.acr === acr && ofKeys(level)));
}

/** Returns the strongest level that these methods reach, or undefined. */
export function acrOf(amr: readonly string[]): string | undefined {
  return reached(amr).at(-1)?.acr;
}

/** Returns the first level of `wanted`, which is in order of preference, that these methods reach. */
export function preferredAcr(wanted: readonly string[], amr: readonly string[]): string | undefined {
  return wanted.find((acr) => reached(amr).some((level) => level.acr === acr));
}

/** What is stored in place of a time that nothing asserted: it is older than any demand. */
export const unknownAuthTime = new Date(0);

export const isKnownAuthTime = (at: Date): boolean => at.getTime() !== unknownAuthTime.getTime();

/** The claim `auth_time`, which is left out if the time is not known (OpenID Connect Core 2). */
export const authTimeClaim = (at: Date): { auth_time?: number } =>
  isKnownAuthTime(at) ? { auth_time: Math.floor(at.getTime() / 1000) } : {};
