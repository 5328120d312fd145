// Authentication context classes: how well somebody was authenticated, told by the methods that a sign-in has shown.

/** A level of authentication. */
interface Level {
  /** The name that clients ask for and get: of the service's own, or one of OpenID Connect Extended Authentication Profile 1.0. */
  acr: string;
  /** The methods that a sign-in must have shown for it (RFC 8176): all of one of these lists. */
  amr: readonly (readonly string[])[];
}

/** From the weakest to the strongest; each is reached by what reaches a stronger one. */
const levels: readonly Level[] = [
  { acr: 'urn:gatehouse:acr:password', amr: [['pwd'], ['mfa']] },
  { acr: 'urn:gatehouse:acr:mfa', amr: [['mfa']] },
  // a passkey beside the password, or one that verified its person by itself: no other site can ask for what it answers
  {
    acr: 'phr',
    amr: [
      ['mfa', 'swk'],
      ['mfa', 'hwk'],
    ],
  },
  // its key cannot leave the device
  { acr: 'phrh', amr: [['mfa', 'hwk']] },
];

/** Two factors, whatever they are: what a demand for a second one means. */
export const multiFactor = 'urn:gatehouse:acr:mfa';

/** What can be asked for: discovery's acr_values_supported. */
export const acrValues: readonly string[] = levels.map(({ acr }) => acr);

const reached = (amr: readonly string[]): Level[] =>
  levels.filter((level) => level.amr.some((methods) => methods.every((method) => amr.includes(method))));

/** Whether each of these levels takes a passkey, whatever else was shown. */
export function needsPasskey(wanted: readonly string[]): boolean {
  const ofKeys = ({ amr }: Level) => amr.every((methods) => methods.includes('swk') || methods.includes('hwk'));
  return wanted.every((acr) => levels.some((level) => level.acr === acr && ofKeys(level)));
}

/** The strongest level that these methods reach; undefined for none. */
export function acrOf(amr: readonly string[]): string | undefined {
  return reached(amr).at(-1)?.acr;
}

/** The first of the wanted levels, which stand in order of preference, that these methods reach. */
export function preferredAcr(wanted: readonly string[], amr: readonly string[]): string | undefined {
  return wanted.find((acr) => reached(amr).some((level) => level.acr === acr));
}
