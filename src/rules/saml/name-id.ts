// Decides the NameID of a user for a SAML application: its format and its value (SAML Core 2.2.2, 8.3).
import { nameIdFormats as formats } from '../../saml/names.ts';
import { namedClaims, type Subject } from '../claims/claims.ts';

/** What the application is told as NameID; `attribute:NAME` is the value of a claim or an attribute. */
export const nameIdPattern = /^(persistent|email|username|attribute:[a-z][a-z0-9_]{0,49})$/;

/** The formats that the metadata of the service announce. */
export const offeredFormats: readonly string[] = [formats.persistent, formats.email, formats.unspecified];

/** The most characters of a NameID (SAML Core 8.3.7). */
const most = 256;

export const formatOfNameId = (kind: string): string =>
  kind === 'persistent' || kind === 'email' ? formats[kind] : formats.unspecified;

/** Whether a request may ask for this format: it leaves the choice to the service, or names the configured one. */
export const admitsFormat = (kind: string, asked: string | undefined): boolean =>
  asked === undefined || asked === formats.unspecified || asked === formatOfNameId(kind);

const prefix = 'attribute:';

/** The claim or the attribute whose value is the NameID; undefined where it is none. */
export const attributeOfNameId = (kind: string | null | undefined): string | undefined =>
  kind?.startsWith(prefix) ? kind.slice(prefix.length) : undefined;
/** The setting of an application whose NameID is this claim or attribute. */
export const nameIdOfAttribute = (name: string): string => `${prefix}${name}`;

/**
 * The value; undefined if the user has none: then the application gets no assertion.
 * @param pairwise the subject of the user at this application alone
 */
export function nameIdOf(kind: string, user: Subject, pairwise: string): string | undefined {
  const value = valueOf(kind, user, pairwise);
  return typeof value === 'string' && value !== '' && value.length <= most ? value : undefined;
}

function valueOf(kind: string, user: Subject, pairwise: string): unknown {
  if (kind === 'persistent') return pairwise;
  // an unconfirmed address may be another user's (federation FR2)
  if (kind === 'email') return user.emailVerified ? user.email : undefined;
  if (kind === 'username') return user.username;
  const name = attributeOfNameId(kind)!;
  if (name === 'email' && !user.emailVerified) return undefined;
  const value = namedClaims(user, [name])[name];
  return typeof value === 'number' ? String(value) : value;
}
