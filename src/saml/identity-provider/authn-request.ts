// Reads the AuthnRequest of an application (SAML Core 3.4.1): names and values, before anything is decided about them.
import { ns } from '../names.ts';
import { childOf, childrenOf, isNamed, uriOf, type XmlElement } from '../reader/elements.ts';
import { SamlRefused } from '../refused.ts';

export interface AuthnRequest {
  id: string;
  destination: string | undefined;
  acsUri: string | undefined;
  /** The position of the address among those of the application. */
  acsIndex: string | undefined;
  binding: string | undefined;
  forceAuthn: boolean;
  isPassive: boolean;
  nameIdFormat: string | undefined;
  context: { comparison: string; classes: string[] } | undefined;
  /** Whether it asks for something that this service does not do: a certain subject, or a context by its declaration. */
  asksMore: boolean;
}

/** The Issuer of a message, which is needed to know whose key may have signed it. @throws SamlRefused */
export function issuerOf(message: XmlElement): string {
  const issuer = childOf(message, ns.assertion, 'Issuer');
  const name = issuer ? uriOf(issuer) : '';
  if (name === '') throw new SamlRefused('form', 'the message has no Issuer');
  return name;
}

/** The members that every message has. @throws SamlRefused */
export function messageIdOf({ attributes }: XmlElement): string {
  const id = attributes.get('ID');
  if (id === undefined || attributes.get('Version') !== '2.0')
    throw new SamlRefused('form', 'the message is not of SAML 2.0');
  return id;
}

/** @param element that the reader has admitted @throws SamlRefused */
export function authnRequestOf(element: XmlElement): AuthnRequest {
  const { attributes } = element;
  const policy = childOf(element, ns.protocol, 'NameIDPolicy');
  const context = childOf(element, ns.protocol, 'RequestedAuthnContext');
  return {
    id: messageIdOf(element),
    destination: attributes.get('Destination'),
    acsUri: attributes.get('AssertionConsumerServiceURL'),
    acsIndex: attributes.get('AssertionConsumerServiceIndex'),
    binding: attributes.get('ProtocolBinding'),
    forceAuthn: truth(attributes.get('ForceAuthn')),
    isPassive: truth(attributes.get('IsPassive')),
    nameIdFormat: policy?.attributes.get('Format'),
    context: context && {
      comparison: context.attributes.get('Comparison') ?? 'exact',
      classes: childrenOf(context, ns.assertion, 'AuthnContextClassRef').map(uriOf),
    },
    asksMore:
      element.children.some((child) => isNamed(child, ns.assertion, 'Subject')) ||
      (context?.children.some((child) => !isNamed(child, ns.assertion, 'AuthnContextClassRef')) ?? false),
  };
}

/** xs:boolean. @throws SamlRefused */
function truth(given: string | undefined): boolean {
  if (given === undefined || given === 'false' || given === '0') return false;
  if (given !== 'true' && given !== '1') throw new SamlRefused('form', 'a member is neither true nor false');
  return true;
}
