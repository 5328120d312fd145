// Authentication context classes: how well somebody was authenticated, told by the methods that a sign-in has shown.

/** A level of authentication. A further factor is one more entry. */
interface Level {
  /** The name that clients ask for and get (RFC 6711: of the service's own). */
  acr: string;
  /** The methods that a sign-in must have shown for it (RFC 8176). */
  amr: readonly string[];
}

/** From the weakest to the strongest. */
const levels: readonly Level[] = [{ acr: 'urn:gatehouse:acr:password', amr: ['pwd'] }];

/** What can be asked for: discovery's acr_values_supported. */
export const acrValues: readonly string[] = levels.map(({ acr }) => acr);

const reached = (amr: readonly string[]): Level[] =>
  levels.filter((level) => level.amr.every((method) => amr.includes(method)));

/** The strongest level that these methods reach; undefined for none. */
export function acrOf(amr: readonly string[]): string | undefined {
  return reached(amr).at(-1)?.acr;
}

/** The first of the wanted levels, which stand in order of preference, that these methods reach. */
export function preferredAcr(wanted: readonly string[], amr: readonly string[]): string | undefined {
  return wanted.find((acr) => reached(amr).some((level) => level.acr === acr));
}
