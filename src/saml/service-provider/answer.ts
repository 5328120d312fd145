// Checks the answer of an identity provider, and reads who the user is: every check of SAML Profiles 4.1.4.3 (federation 9, FR25).
import { bearer, ns, statusCodes } from '../names.ts';
import { check, checkEnd, checkIssuer, checkStart, checkVersion, type NameId, nameIdIn, timeIn } from '../message.ts';
import { childOf, childrenOf, isNamed, textOf, uriOf, type XmlElement } from '../reader/elements.ts';
import type { ReadResponse } from '../reader/response.ts';
import { SamlRefused } from '../refused.ts';

export interface ExpectedAnswer {
  /** The entity of the identity provider. */
  entityId: string;
  /** The entity of this service. */
  audience: string;
  /** The address at which the answer arrived. */
  consumerUri: string;
  /** The id of our request, which this browser began and has not used; undefined for an answer to no request. */
  requestId: string | undefined;
  now: Date;
}

export interface SamlAttribute {
  name: string;
  friendlyName: string | undefined;
  values: string[];
}

export interface SamlAnswer {
  assertionId: string;
  /** Until then the assertion must not be taken again. */
  expiresAt: Date;
  nameId: NameId | undefined;
  attributes: SamlAttribute[];
  authnInstant: Date;
  /** How the user signed in (SAML Authentication Context). */
  context: string | undefined;
  sessionIndex: string | undefined;
  sessionEnds: Date | undefined;
}

/** The two codes of a status that is not Success; undefined for Success. @throws SamlRefused */
export function failedStatus(response: XmlElement): { code: string; inner: string | undefined } | undefined {
  const status = childOf(response, ns.protocol, 'Status');
  const first = status && childOf(status, ns.protocol, 'StatusCode');
  const code = first?.attributes.get('Value');
  if (!first || code === undefined) throw new SamlRefused('check', 'the response has no status');
  if (code === statusCodes.success) return undefined;
  return { code, inner: childOf(first, ns.protocol, 'StatusCode')?.attributes.get('Value') };
}

/** @throws SamlRefused */
export function checkAnswer({ response, assertion }: ReadResponse, expected: ExpectedAnswer): SamlAnswer {
  const { entityId, consumerUri, requestId, now } = expected;
  checkVersion(response);
  checkVersion(assertion);
  check(failedStatus(response) === undefined, 'the status is not Success');
  checkIssuer(response, entityId);
  checkIssuer(assertion, entityId);
  check(response.attributes.get('Destination') === consumerUri, 'the destination is another');
  check(response.attributes.get('InResponseTo') === requestId, 'the response belongs to another request');
  const subject = childOf(assertion, ns.assertion, 'Subject');
  const assertionId = assertion.attributes.get('ID');
  if (!subject || assertionId === undefined) throw new SamlRefused('check', 'the assertion has no subject, or no id');
  const confirmedUntil = confirmation(subject, expected);
  const conditionsEnd = checkConditions(assertion, expected);
  const { authnInstant, ...statement } = authentication(assertion, now);
  return {
    assertionId,
    expiresAt: new Date(Math.max(confirmedUntil.getTime(), conditionsEnd.getTime())),
    nameId: nameIdIn(subject),
    attributes: attributesIn(assertion),
    authnInstant,
    ...statement,
  };
}

/** One confirmation by bearer holds, with all that it must say. @returns its end @throws SamlRefused */
function confirmation(subject: XmlElement, { consumerUri, requestId, now }: ExpectedAnswer): Date {
  const found = childrenOf(subject, ns.assertion, 'SubjectConfirmation').filter(
    ({ attributes }) => attributes.get('Method') === bearer,
  );
  const [one, second] = found;
  const data = one && childOf(one, ns.assertion, 'SubjectConfirmationData');
  if (!data || second) throw new SamlRefused('check', 'there is not one confirmation by bearer');
  check(data.attributes.get('Recipient') === consumerUri, 'the recipient is another');
  check(data.attributes.get('InResponseTo') === requestId, 'the confirmation belongs to another request');
  checkStart(data, 'NotBefore', now);
  return checkEnd(data, 'NotOnOrAfter', now);
}

const knownConditions = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction'];

/** @returns the end @throws SamlRefused */
function checkConditions(assertion: XmlElement, { audience, now }: ExpectedAnswer): Date {
  const conditions = childOf(assertion, ns.assertion, 'Conditions');
  if (!conditions) throw new SamlRefused('check', 'there are no conditions');
  // a condition that is not understood is not met (SAML Core 2.5.1.1)
  const isKnown = ({ namespace, name }: XmlElement) => namespace === ns.assertion && knownConditions.includes(name);
  check(conditions.children.every(isKnown), 'there is an unknown condition');
  checkStart(conditions, 'NotBefore', now);
  const end = checkEnd(conditions, 'NotOnOrAfter', now);
  const restrictions = childrenOf(conditions, ns.assertion, 'AudienceRestriction');
  const names = (one: XmlElement) => childrenOf(one, ns.assertion, 'Audience').map(uriOf);
  check(
    restrictions.length > 0 && restrictions.every((one) => names(one).includes(audience)),
    'the audience is another',
  );
  return end;
}

function authentication(assertion: XmlElement, now: Date) {
  const statement = childOf(assertion, ns.assertion, 'AuthnStatement');
  const authnInstant = statement && timeIn(statement, 'AuthnInstant');
  if (!statement || !authnInstant) throw new SamlRefused('check', 'the assertion does not say when the user signed in');
  const sessionEnds = statement.attributes.has('SessionNotOnOrAfter')
    ? checkEnd(statement, 'SessionNotOnOrAfter', now)
    : undefined;
  const context = childOf(statement, ns.assertion, 'AuthnContext');
  const reference = context && childOf(context, ns.assertion, 'AuthnContextClassRef');
  return {
    authnInstant,
    sessionEnds,
    context: reference && uriOf(reference),
    sessionIndex: statement.attributes.get('SessionIndex'),
  };
}

/** The attributes with their values; one that stands twice has the values of both. @throws SamlRefused */
function attributesIn(assertion: XmlElement): SamlAttribute[] {
  const found = new Map<string, SamlAttribute>();
  const statements = childrenOf(assertion, ns.assertion, 'AttributeStatement');
  for (const attribute of statements.flatMap((one) => childrenOf(one, ns.assertion, 'Attribute'))) {
    const name = attribute.attributes.get('Name');
    if (name === undefined || name === '') throw new SamlRefused('check', 'an attribute has no name');
    const values = childrenOf(attribute, ns.assertion, 'AttributeValue').flatMap(valueOf);
    const known = found.get(name);
    if (known) known.values.push(...values);
    else found.set(name, { name, friendlyName: attribute.attributes.get('FriendlyName'), values });
  }
  return [...found.values()];
}

/** The text of a value, or of the name in it (eduPersonTargetedID). Any other structure is no value. */
function valueOf(value: XmlElement): string[] {
  if (value.children.length === 0) return [textOf(value)];
  const [inner, second] = value.children;
  const isName = inner && !second && isNamed(inner, ns.assertion, 'NameID') && value.text.trim() === '';
  return isName ? [textOf(inner)] : [];
}
