// Lists the refusals of SAML applications and of the keys that sign for them.

/** The sentence of a rule for one member begins with the member's name. */
export const samlMemberRules = {
  'saml-entity': 'must be a URI or another name of 1 to 1024 visible ASCII characters',
  'saml-name-id': 'must be persistent, email, username, or attribute: with the name of a claim or an attribute',
  certificate: 'must be a certificate (PEM) with an RSA key of at least 2048 bits, or an EC key',
  'certificate.encryption': 'must be a certificate in PEM with an RSA key of at least 2048 bits',
} as const;

/** Each sentence is whole. */
export const samlRules = {
  'saml.entity-taken': 'another client has this entity_id',
  'saml.kind': '{member} is for SAML applications only',
  'saml.metadata': '{member} is not the metadata of one SAML application',
  'saml.metadata-uri':
    'the metadata could not be read: they must be answered with status 200, over https and from a public address',
  'saml.name-id-written':
    'name_id must not be attribute:{name}: users can change this value, and so they could sign in as another user there',
  'saml.names-users':
    'person must not be write: the SAML application {client} takes this attribute as the NameID of its users',
  'saml.needs': 'a SAML application needs entity_id and acs_uris',
  'saml.oauth': 'a SAML application uses no grant types, response types, redirect URIs or scopes of OAuth',
  'saml.signed': 'require_signed_requests needs the certificates of the application',
  'saml.logout': 'slo_uri needs the certificates of the application, since only signed logout requests count',
  'saml-key.two': 'there are two SAML keys already: delete one first',
  'saml-key.active': 'this key signs or has signed already',
  'saml-key.signs': 'this key signs: let another one sign first',
} as const;
