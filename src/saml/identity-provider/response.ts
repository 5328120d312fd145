// Writes the responses of the identity provider: a signed assertion about a user, or a status (SAML Core 2.3, 3.3.3; Profiles 4.1.4.2).
import { X509Certificate } from 'node:crypto';
import { bearer, nameIdFormats, ns } from '../names.ts';
import { encryptedAssertion } from '../reader/encryption.ts';
import { signElement, type SigningKey } from '../signing.ts';
import { statusElement } from '../logout.ts';
import { nameIdElement, prefixes } from '../message.ts';
import { asWritten, element, instant, type Written } from '../writer.ts';

/** What every response says. */
export interface ResponseFrame {
  id: string;
  issuer: string;
  /** The address of the application that gets it. */
  destination: string;
  /** The ID of the request; undefined for an answer without one. */
  inResponseTo: string | undefined;
  at: Date;
}

export interface AssertionContent {
  id: string;
  /** The entity ID of the application. */
  audience: string;
  nameId: { format: string; value: string };
  sessionIndex: string;
  /** When the user signed in; undefined if nothing says so. */
  authTime: Date;
  contextClass: string;
  attributes: readonly { name: string; values: readonly string[] }[];
  /** Until when the application may take it. */
  until: Date;
  /** When the session at the application ends. */
  sessionUntil: Date | undefined;
}

const format = 'urn:oasis:names:tc:SAML:2.0:attrname-format:';

const responseOf = (frame: ResponseFrame, status: readonly [string, string?], content: readonly Written[]): string =>
  element(
    'samlp:Response',
    {
      ...prefixes,
      ID: frame.id,
      Version: '2.0',
      IssueInstant: instant(frame.at),
      Destination: frame.destination,
      InResponseTo: frame.inResponseTo,
    },
    [element('saml:Issuer', {}, frame.issuer), statusElement(status), ...content],
  ).xml;

/** A response without an assertion. It is signed, so that a stranger cannot end a sign-in with one. */
export const statusResponse = (frame: ResponseFrame, status: readonly [string, string?], key: SigningKey): string =>
  signElement(responseOf(frame, status, []), frame.id, key);

function assertionOf(frame: ResponseFrame, content: AssertionContent): string {
  const { nameId, attributes, audience } = content;
  const [from, until] = [instant(frame.at), instant(content.until)];
  const confirmed = element('saml:SubjectConfirmationData', {
    InResponseTo: frame.inResponseTo,
    NotOnOrAfter: until,
    Recipient: frame.destination,
  });
  const statement = attributes.map(({ name, values }) =>
    element(
      'saml:Attribute',
      { Name: name, NameFormat: `${format}${name.includes(':') ? 'uri' : 'basic'}` },
      values.map((value) => element('saml:AttributeValue', {}, value)),
    ),
  );
  return element('saml:Assertion', { 'xmlns:saml': ns.assertion, ID: content.id, Version: '2.0', IssueInstant: from }, [
    element('saml:Issuer', {}, frame.issuer),
    element('saml:Subject', {}, [
      nameIdElement(
        nameId.format === nameIdFormats.persistent
          ? { ...nameId, nameQualifier: frame.issuer, spNameQualifier: audience }
          : nameId,
      ),
      element('saml:SubjectConfirmation', { Method: bearer }, confirmed),
    ]),
    element(
      'saml:Conditions',
      { NotBefore: from, NotOnOrAfter: until },
      element('saml:AudienceRestriction', {}, element('saml:Audience', {}, audience)),
    ),
    element(
      'saml:AuthnStatement',
      {
        AuthnInstant: instant(content.authTime),
        SessionIndex: content.sessionIndex,
        SessionNotOnOrAfter: content.sessionUntil && instant(content.sessionUntil),
      },
      element('saml:AuthnContext', {}, element('saml:AuthnContextClassRef', {}, content.contextClass)),
    ),
    ...(statement.length > 0 ? [element('saml:AttributeStatement', {}, statement)] : []),
  ]).xml;
}

/**
 * Writes a response with one assertion. The assertion is always signed, and then encrypted if the application has a certificate for that.
 * @param options `whole` signs the response, too
 */
export async function assertionResponse(
  frame: ResponseFrame,
  content: AssertionContent,
  status: readonly [string, string?],
  key: SigningKey,
  { whole, encryptTo }: { whole: boolean; encryptTo: string | undefined },
): Promise<string> {
  const signed = signElement(assertionOf(frame, content), content.id, key);
  const carried =
    encryptTo === undefined
      ? signed
      : await encryptedAssertion(signed, encryptTo, new X509Certificate(encryptTo).publicKey);
  const response = responseOf(frame, status, [asWritten(carried)]);
  return whole ? signElement(response, frame.id, key) : response;
}
