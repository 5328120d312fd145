// Reads the parts that messages and assertions share: times, issuers and names of subjects (SAML Core 1.3, 2.2).
import { nameIdFormats, ns } from './names.ts';
import { childOf, textOf, uriOf, type XmlElement } from './reader/elements.ts';
import { SamlRefused } from './refused.ts';
import { element, type Written } from './writer.ts';

/** Milliseconds by which two clocks may differ. */
export const clockSkew = 60_000;

export const check = (isRight: boolean, message: string): void => {
  if (!isRight) throw new SamlRefused('check', message);
};

/** Reads a time, which is in UTC (SAML Core 1.3.3). Undefined if there is none. @throws SamlRefused */
export function timeIn({ attributes }: XmlElement, name: string): Date | undefined {
  const text = attributes.get(name);
  if (text === undefined) return undefined;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) throw new SamlRefused('check', `${name} is no time`);
  return new Date(time);
}

/** @throws SamlRefused unless now is before the end, which must be there */
export function checkEnd(element: XmlElement, name: string, now: Date): Date {
  const end = timeIn(element, name);
  if (!end) throw new SamlRefused('check', `${name} is missing`);
  check(now.getTime() < end.getTime() + clockSkew, `${name} is past`);
  return end;
}

/** @throws SamlRefused if the time begins later, if it says when */
export function checkStart(element: XmlElement, name: string, now: Date): void {
  const start = timeIn(element, name);
  if (start) check(start.getTime() - clockSkew <= now.getTime(), `${name} has not come`);
}

/** @throws SamlRefused unless the element has this issuer */
export function checkIssuer(of: XmlElement, entityId: string): void {
  const issuer = childOf(of, ns.assertion, 'Issuer');
  const format = issuer?.attributes.get('Format') ?? entityFormat;
  check(
    issuer !== undefined && uriOf(issuer) === entityId && format === entityFormat,
    `the issuer of ${of.name} is another`,
  );
}
const entityFormat = 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity';

export const checkVersion = (of: XmlElement): void =>
  check(of.attributes.get('Version') === '2.0', `the version of ${of.name} is another`);

/** The name of a subject (SAML Core 2.2.3). */
export interface NameId {
  value: string;
  format: string;
  nameQualifier?: string | undefined;
  spNameQualifier?: string | undefined;
}

/** @throws SamlRefused */
export function nameIdIn(subject: XmlElement): NameId | undefined {
  const found = childOf(subject, ns.assertion, 'NameID');
  if (!found) return undefined;
  const { attributes } = found;
  return {
    value: textOf(found),
    format: attributes.get('Format') ?? nameIdFormats.unspecified,
    nameQualifier: attributes.get('NameQualifier'),
    spNameQualifier: attributes.get('SPNameQualifier'),
  };
}

/** The namespace `saml` must be declared above it. */
export const nameIdElement = ({ value, format, nameQualifier, spNameQualifier }: NameId): Written =>
  element('saml:NameID', { Format: format, NameQualifier: nameQualifier, SPNameQualifier: spNameQualifier }, value);

/** The attributes that declare the two prefixes of a written message. */
export const prefixes = { 'xmlns:samlp': ns.protocol, 'xmlns:saml': ns.assertion } as const;
