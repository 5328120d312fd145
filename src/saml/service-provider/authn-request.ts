// Writes the request by which this service, as a service provider, asks an identity provider to sign a user in (SAML Core 3.4.1).
import { bindings } from '../names.ts';
import { prefixes } from '../message.ts';
import { element, instant } from '../writer.ts';

export function authnRequest({
  id,
  issuer,
  destination,
  consumerUri,
  nameIdFormat,
  forceAuthn,
  now,
}: {
  id: string;
  issuer: string;
  destination: string;
  /** The address of this service at which the answer arrives, by POST. */
  consumerUri: string;
  /** Undefined for the choice of the identity provider. */
  nameIdFormat: string | undefined;
  /** The user must sign in there again. */
  forceAuthn: boolean;
  now: Date;
}): string {
  return element(
    'samlp:AuthnRequest',
    {
      ...prefixes,
      ID: id,
      Version: '2.0',
      IssueInstant: instant(now),
      Destination: destination,
      ...(forceAuthn && { ForceAuthn: 'true' }),
      ProtocolBinding: bindings.post,
      AssertionConsumerServiceURL: consumerUri,
    },
    [
      element('saml:Issuer', {}, issuer),
      ...(nameIdFormat === undefined
        ? []
        : [element('samlp:NameIDPolicy', { Format: nameIdFormat, AllowCreate: 'true' })]),
    ],
  ).xml;
}
