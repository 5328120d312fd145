// Makes the identity of a user from a checked answer: its subject, claims, groups and address (federation 9).
import { createHash } from 'node:crypto';
import type { Connection } from '../../../entities/connections.ts';
import { addressOf, isSubject, methodsOf } from '../../../rules/connections/connection-answer.ts';
import { clockSkew, type NameId } from '../../../saml/message.ts';
import { nameIdFormats } from '../../../saml/names.ts';
import type { SamlAnswer, SamlAttribute } from '../../../saml/service-provider/answer.ts';
import { ConnectionFailure, type VerifiedIdentity } from '../kind.ts';
import { formatOf, type SamlSettings } from './settings.ts';

/** The usual names of attributes, for claims that no rule sets. */
const usualNames: Readonly<Record<string, readonly string[]>> = {
  name: [
    'displayName',
    'urn:oid:2.16.840.1.113730.3.1.241',
    'http://schemas.microsoft.com/identity/claims/displayname',
  ],
  given_name: [
    'givenName',
    'firstName',
    'urn:oid:2.5.4.42',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname',
  ],
  family_name: [
    'sn',
    'surname',
    'lastName',
    'urn:oid:2.5.4.4',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname',
  ],
  email: [
    'mail',
    'emailAddress',
    'urn:oid:0.9.2342.19200300.100.1.3',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  ],
};

const refused = (message: string) => new ConnectionFailure('answer', message);

/** @throws ConnectionFailure */
export function identityOf(
  connection: Pick<Connection, 'trustMfa' | 'mfaValues' | 'logout'>,
  settings: SamlSettings & { entity_id: string },
  answer: SamlAnswer,
  { audience, now }: { audience: string; now: Date },
): VerifiedIdentity {
  const { nameId, attributes, context, authnInstant, sessionIndex, sessionEnds } = answer;
  if (nameId) admitName(nameId, settings, audience);
  const subject = subjectOf(settings, nameId, attributes);
  const claims = claimsOf(settings, nameId, attributes);
  return {
    issuer: settings.entity_id,
    subject,
    claims,
    address: addressOf({ email: emailOf(settings, nameId, claims) }),
    authTime: signedInAt(authnInstant, now),
    amr: methodsOf(connection, { acr: context }),
    sid: nameId && sessionName(nameId, sessionIndex),
    sessionEnds: sessionEnds && Math.floor(sessionEnds.getTime() / 1000),
    // a logout there names the user as the answer did
    tokens:
      connection.logout === 'propagate' && nameId ? { idToken: JSON.stringify({ nameId, sessionIndex }) } : undefined,
  };
}

/** When the user signed in there; undefined if the clock there is wrong: then the sign-in is not fresh (federation FR10). */
const signedInAt = (said: Date, now: Date): Date | undefined =>
  said.getTime() > now.getTime() + clockSkew ? undefined : new Date(Math.min(said.getTime(), now.getTime()));

/** A name of another format or of another party may belong to another user of the same identity provider. @throws ConnectionFailure */
function admitName(
  { format, nameQualifier, spNameQualifier }: NameId,
  settings: SamlSettings & { entity_id: string },
  audience: string,
): void {
  const wanted = formatOf(settings.name_id_format);
  if (wanted !== undefined && format !== wanted) throw refused('the name has another format');
  if (nameQualifier !== undefined && nameQualifier !== settings.entity_id)
    throw refused('the name belongs to another identity provider');
  if (spNameQualifier !== undefined && spNameQualifier !== audience) throw refused('the name is for another service');
}

/** What identifies the user permanently, byte for byte (federation FR1). @throws ConnectionFailure */
function subjectOf(settings: SamlSettings, nameId: NameId | undefined, attributes: readonly SamlAttribute[]): string {
  const named = settings.subject_attribute;
  if (named !== undefined) {
    const values = valuesOf(attributes, named) ?? [];
    if (values.length !== 1 || !isSubject(values[0])) throw refused('the subject attribute has not one value');
    return values[0];
  }
  if (!nameId || nameId.format === nameIdFormats.transient) throw refused('the answer has no permanent name');
  if (!isSubject(nameId.value)) throw refused('the name is no subject');
  return nameId.value;
}

/** The values of an attribute by its name; else those of all attributes with this friendly name, which need not be unique. */
function valuesOf(attributes: readonly SamlAttribute[], named: string): string[] | undefined {
  const byName = attributes.find(({ name }) => name === named);
  if (byName) return byName.values;
  const friendly = attributes.filter(({ friendlyName }) => friendlyName === named);
  return friendly.length === 0 ? undefined : friendly.flatMap(({ values }) => values);
}

/** The attributes by their names, a single value as a text; then by the names that claims have. */
function claimsOf(settings: SamlSettings, nameId: NameId | undefined, attributes: readonly SamlAttribute[]) {
  const claims = new Map<string, unknown>();
  const put = (name: string, values: readonly string[]) => {
    if (!claims.has(name)) claims.set(name, values.length === 1 ? values[0] : values);
  };
  for (const { name, values } of attributes) put(name, values);
  for (const { friendlyName, values } of attributes) if (friendlyName !== undefined) put(friendlyName, values);
  for (const [claim, names] of Object.entries(usualNames))
    for (const name of names) {
      const values = valuesOf(attributes, name);
      if (values?.length === 1) put(claim, values);
    }
  const groups = valuesOf(attributes, settings.groups_attribute);
  claims.delete('groups');
  // an attribute without a value says that the user has no groups; no attribute says nothing (federation FR15)
  if (groups)
    claims.set(
      'groups',
      groups.filter((one) => one !== ''),
    );
  claims.delete('name_id');
  if (nameId && nameId.format !== nameIdFormats.transient) claims.set('name_id', nameId.value);
  return Object.fromEntries(claims);
}

function emailOf(
  settings: SamlSettings,
  nameId: NameId | undefined,
  claims: Readonly<Record<string, unknown>>,
): unknown {
  if (settings.email_attribute !== undefined)
    return Object.hasOwn(claims, settings.email_attribute) ? claims[settings.email_attribute] : undefined;
  return claims['email'] ?? (nameId?.format === nameIdFormats.email ? nameId.value : undefined);
}

/** The name of a session there, from the two members by which a logout names it: a digest, so that an index may have any length. */
export const sessionName = ({ value }: NameId, sessionIndex: string | undefined): string =>
  createHash('sha256')
    .update(JSON.stringify(['saml session', value, sessionIndex ?? null]))
    .digest('base64url');
