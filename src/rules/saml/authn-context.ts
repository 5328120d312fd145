// Maps the authentication context classes of SAML (RequestedAuthnContext, AuthnContextClassRef) to the levels of the service (SAML Core 3.3.2.2.1).
import { acrOf, acrValues, multiFactor, preferredAcr } from '../../oauth/acr.ts';

const classes = 'urn:oasis:names:tc:SAML:2.0:ac:classes:';
const [lowest] = acrValues as [string];

export const passwordClass = `${classes}PasswordProtectedTransport`;
/** A sign-in elsewhere, of which the service knows no method. */
export const unspecifiedClass = `${classes}unspecified`;
/** The class that REFEDS defined for any two factors: SAML's own list names single devices only. */
export const multiFactorClass = 'https://refeds.org/profile/mfa';

/** The level that each class demands. A level of the service is a class, too. */
const levels: Readonly<Record<string, string>> = {
  [unspecifiedClass]: lowest,
  [`${classes}Password`]: lowest,
  [passwordClass]: lowest,
  'https://refeds.org/profile/sfa': lowest,
  [multiFactorClass]: multiFactor,
  'http://schemas.microsoft.com/claims/multipleauthn': multiFactor,
  ...Object.fromEntries(acrValues.map((acr) => [acr, acr])),
};

export const comparisons = ['exact', 'minimum', 'maximum', 'better'] as const;

/** What an AuthnRequest demands of the sign-in. */
export interface RequestedContext {
  comparison: (typeof comparisons)[number];
  classes: readonly string[];
}

/** The classes that the service knows, each once: a request may name hundreds, and is stored while its user signs in. */
export const knownClasses = (wanted: readonly string[]): string[] => [
  ...new Set(wanted.filter((one) => Object.hasOwn(levels, one))),
];

/**
 * The levels of which the sign-in must reach one, in the order of the request; none if the service knows no class that would do.
 * A stronger sign-in also reaches a weaker level, and so is of its class.
 */
export function demandedLevels({ comparison, classes: wanted }: RequestedContext): string[] {
  const known = [...new Set(knownClasses(wanted).map((one) => levels[one]!))];
  if (comparison !== 'better' || known.length === 0) return known;
  // stronger than every one of them
  const strongest = Math.max(...known.map((level) => acrValues.indexOf(level)));
  return acrValues.slice(strongest + 1);
}

/**
 * The class that the assertion names: a requested one that the sign-in is of, else that of its level.
 * @param amr how the user signed in
 */
export function classOf(amr: readonly string[], requested: RequestedContext | undefined): string {
  const asked = requested && ['exact', 'maximum'].includes(requested.comparison) ? requested.classes : [];
  const met = asked.find((one) => Object.hasOwn(levels, one) && preferredAcr([levels[one]!], amr) !== undefined);
  if (met !== undefined) return met;
  if (acrOf(amr) !== lowest) return multiFactorClass;
  return amr.includes('pwd') ? passwordClass : unspecifiedClass;
}
