// Reads and writes the messages of single logout (SAML Core 3.7), for both sides.
import { ns } from './names.ts';
import {
  check,
  checkEnd,
  checkIssuer,
  checkVersion,
  clockSkew,
  type NameId,
  nameIdElement,
  nameIdIn,
  prefixes,
  timeIn,
} from './message.ts';
import { childrenOf, textOf, type XmlElement } from './reader/elements.ts';
import { SamlRefused } from './refused.ts';
import { element, instant, type Written } from './writer.ts';

export interface LogoutRequest {
  id: string;
  nameId: NameId;
  /** Empty for all sessions of the subject. */
  sessionIndexes: string[];
  /** Until then the request must not be taken again. */
  expiresAt: Date;
}

/** A request without an end is taken for so long (federation FR19). */
const usualLife = 300_000; // milliseconds
/** The most sessions that one request names. */
const maxIndexes = 20;

export const logoutRequestName = { namespace: ns.protocol, name: 'LogoutRequest' } as const;

/**
 * Checks a verified LogoutRequest as strictly as a sign-in (federation FR19).
 * @param root the parse of the verified bytes
 * @throws SamlRefused
 */
export function checkLogoutRequest(
  root: XmlElement,
  { sender, destination, now }: { sender: string; destination: string; now: Date },
): LogoutRequest {
  checkVersion(root);
  checkIssuer(root, sender);
  check(root.attributes.get('Destination') === destination, 'the destination is another');
  const issued = timeIn(root, 'IssueInstant');
  if (!issued) throw new SamlRefused('check', 'IssueInstant is missing');
  const age = now.getTime() - issued.getTime();
  check(age >= -clockSkew && age < usualLife + clockSkew, 'the request is old, or from the future');
  const expiresAt = root.attributes.has('NotOnOrAfter')
    ? checkEnd(root, 'NotOnOrAfter', now)
    : new Date(issued.getTime() + usualLife);
  const nameId = nameIdIn(root);
  const id = root.attributes.get('ID');
  if (!nameId || id === undefined) throw new SamlRefused('check', 'the request names no subject, or has no id');
  const indexes = childrenOf(root, ns.protocol, 'SessionIndex').map(textOf);
  check(indexes.length <= maxIndexes, 'the request names too many sessions');
  return { id, nameId, sessionIndexes: indexes, expiresAt };
}

interface Envelope {
  id: string;
  issuer: string;
  destination: string;
  now: Date;
}

export const logoutRequest = ({
  nameId,
  sessionIndex,
  ...envelope
}: Envelope & { nameId: NameId; sessionIndex?: string | undefined }): string =>
  message('samlp:LogoutRequest', envelope, { NotOnOrAfter: instant(new Date(envelope.now.getTime() + usualLife)) }, [
    nameIdElement(nameId),
    ...(sessionIndex === undefined ? [] : [element('samlp:SessionIndex', {}, sessionIndex)]),
  ]);

/** @param status the first is one of the four that stand at the top; a second says more */
export const logoutResponse = ({
  inResponseTo,
  status,
  ...envelope
}: Envelope & { inResponseTo: string; status: readonly [string, string?] }): string =>
  message('samlp:LogoutResponse', envelope, { InResponseTo: inResponseTo }, [statusElement(status)]);

export function statusElement([first, second]: readonly [string, string?]): Written {
  const inner = second === undefined ? [] : [element('samlp:StatusCode', { Value: second })];
  return element('samlp:Status', {}, element('samlp:StatusCode', { Value: first }, inner));
}

const message = (
  name: string,
  { id, issuer, destination, now }: Envelope,
  more: Readonly<Record<string, string>>,
  content: readonly Written[],
): string =>
  element(
    name,
    { ...prefixes, ID: id, Version: '2.0', IssueInstant: instant(now), Destination: destination, ...more },
    [element('saml:Issuer', {}, issuer), ...content],
  ).xml;
