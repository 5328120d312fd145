// Reads the metadata of one entity, and writes that of a service provider and of an identity provider (SAML Metadata 2.4).
import { type PinnedCertificate, bodyOf, readCertificate } from './certificates.ts';
import { bindings, ns } from './names.ts';
import { childrenOf, isNamed, parseXml, uriOf, type XmlElement } from './reader/elements.ts';
import { contentAlgorithms, keyAlgorithm } from './reader/encryption.ts';
import { SamlRefused } from './refused.ts';
import { element, type Written } from './writer.ts';

export interface Endpoint {
  binding: string;
  location: string;
  index?: number;
  isDefault?: boolean;
}

interface Role {
  /** The certificates that the metadata gives for signing. A key without a use signs nothing (federation F35). */
  certificates: PinnedCertificate[];
  encryptionCertificates: PinnedCertificate[];
  logout: Endpoint[];
  nameIdFormats: string[];
}
export interface IdentityProviderRole extends Role {
  signOn: Endpoint[];
  wantsSignedRequests: boolean;
}
export interface ServiceProviderRole extends Role {
  consumers: Endpoint[];
  signsRequests: boolean;
  wantsSignedAssertions: boolean;
}
export interface Metadata {
  entityId: string;
  identityProvider: IdentityProviderRole | undefined;
  serviceProvider: ServiceProviderRole | undefined;
}

const form = (message: string) => new SamlRefused('form', message);

/** Reads a document that an administrator chose. Its signature says nothing here: the keys in it are pinned. @throws SamlRefused */
export function readMetadata(given: Uint8Array | string): Metadata {
  const { root } = parseXml(given, { comments: true });
  if (!isNamed(root, ns.metadata, 'EntityDescriptor')) throw form('it is not the metadata of one entity');
  const entityId = root.attributes.get('entityID')?.trim() ?? '';
  if (entityId === '' || entityId.length > 1024) throw form('the entity has no entityID');
  const idp = roleOf(root, 'IDPSSODescriptor');
  const sp = roleOf(root, 'SPSSODescriptor');
  return {
    entityId,
    identityProvider: idp && {
      ...commonOf(idp),
      signOn: endpointsOf(idp, 'SingleSignOnService'),
      wantsSignedRequests: isTrue(idp, 'WantAuthnRequestsSigned'),
    },
    serviceProvider: sp && {
      ...commonOf(sp),
      consumers: endpointsOf(sp, 'AssertionConsumerService'),
      signsRequests: isTrue(sp, 'AuthnRequestsSigned'),
      wantsSignedAssertions: isTrue(sp, 'WantAssertionsSigned'),
    },
  };
}

const isTrue = ({ attributes }: XmlElement, name: string): boolean =>
  ['true', '1'].includes(attributes.get(name) ?? '');

function roleOf(root: XmlElement, name: string): XmlElement | undefined {
  const found = childrenOf(root, ns.metadata, name).filter(({ attributes }) =>
    (attributes.get('protocolSupportEnumeration') ?? '').split(/\s+/).includes(ns.protocol),
  );
  if (found.length > 1) throw form('the entity has a role twice');
  return found[0];
}

function commonOf(role: XmlElement): Role {
  const keys = childrenOf(role, ns.metadata, 'KeyDescriptor');
  const of = (use: string) => keys.filter(({ attributes }) => attributes.get('use') === use).flatMap(certificatesIn);
  return {
    certificates: of('signing'),
    encryptionCertificates: of('encryption'),
    logout: endpointsOf(role, 'SingleLogoutService'),
    nameIdFormats: childrenOf(role, ns.metadata, 'NameIDFormat').map(uriOf),
  };
}

function certificatesIn(key: XmlElement): PinnedCertificate[] {
  const infos = childrenOf(key, ns.signature, 'KeyInfo');
  const data = infos.flatMap((info) => childrenOf(info, ns.signature, 'X509Data'));
  return data
    .flatMap((one) => childrenOf(one, ns.signature, 'X509Certificate'))
    .map((one) => {
      const read = readCertificate(uriOf(one));
      if (!read) throw form('a certificate cannot be read, or its key is too weak');
      return read;
    });
}

function endpointsOf(role: XmlElement, name: string): Endpoint[] {
  return childrenOf(role, ns.metadata, name).map(({ attributes }) => {
    const [binding, location, index] = ['Binding', 'Location', 'index'].map((one) => attributes.get(one)?.trim());
    if (!binding || !location) throw form('an address has no binding or no location');
    return {
      binding,
      location,
      ...(index !== undefined && /^\d{1,5}$/.test(index) && { index: Number(index) }),
      ...(['true', '1'].includes(attributes.get('isDefault') ?? '') && { isDefault: true }),
    };
  });
}

/** The address of a role for a binding. @param endpoints in the order of the metadata */
export const locationOf = (endpoints: readonly Endpoint[], binding: string): string | undefined =>
  endpoints.find((one) => one.binding === binding)?.location;

interface OwnRole {
  entityId: string;
  /** PEM. During a change of the key there are two. */
  signing: readonly string[];
  encryption?: readonly string[];
  logoutUri?: string | undefined;
  nameIdFormats: readonly string[];
}

/** Writes the metadata of this service as a service provider. */
export function serviceProviderMetadata(role: OwnRole & { consumerUri: string; signsRequests: boolean }): string {
  return entity(role.entityId, [
    element(
      'md:SPSSODescriptor',
      {
        protocolSupportEnumeration: ns.protocol,
        AuthnRequestsSigned: String(role.signsRequests),
        WantAssertionsSigned: 'true',
      },
      [
        ...commonParts(role),
        element('md:AssertionConsumerService', {
          Binding: bindings.post,
          Location: role.consumerUri,
          index: '0',
          isDefault: 'true',
        }),
      ],
    ),
  ]);
}

/** Writes the metadata of this service as an identity provider. */
export function identityProviderMetadata(role: OwnRole & { signOnUri: string }): string {
  return entity(role.entityId, [
    element('md:IDPSSODescriptor', { protocolSupportEnumeration: ns.protocol }, [
      ...commonParts(role),
      ...bothBindings('md:SingleSignOnService', role.signOnUri),
    ]),
  ]);
}

const entity = (entityID: string, roles: readonly Written[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${element('md:EntityDescriptor', { 'xmlns:md': ns.metadata, entityID }, roles).xml}\n`;

/** In the order of the schema: keys, logout, formats. */
const commonParts = ({ signing, encryption = [], logoutUri, nameIdFormats }: OwnRole): Written[] => [
  ...signing.map((pem) => keyDescriptor('signing', pem)),
  ...encryption.map((pem) => keyDescriptor('encryption', pem)),
  ...(logoutUri === undefined ? [] : bothBindings('md:SingleLogoutService', logoutUri)),
  ...nameIdFormats.map((format) => element('md:NameIDFormat', {}, format)),
];

const bothBindings = (name: string, Location: string): Written[] =>
  [bindings.redirect, bindings.post].map((Binding) => element(name, { Binding, Location }));

function keyDescriptor(use: 'signing' | 'encryption', pem: string): Written {
  const certificate = element('ds:X509Certificate', {}, bodyOf(pem));
  const methods = [...contentAlgorithms, keyAlgorithm].map((Algorithm) =>
    element('md:EncryptionMethod', { Algorithm }),
  );
  return element('md:KeyDescriptor', { use }, [
    element('ds:KeyInfo', { 'xmlns:ds': ns.signature }, element('ds:X509Data', {}, certificate)),
    ...(use === 'encryption' ? methods : []),
  ]);
}
