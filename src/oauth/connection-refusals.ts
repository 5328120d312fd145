// Lists the refusals about connections, the links of users to them, and SCIM sources, each as a code with its English sentence.

/** Rules for the settings of connections; each sentence is whole. */
export const connectionRules = {
  'scim-source.taken': 'a SCIM source with this id already exists',
  'scim-source.tokens': 'the source already has two tokens: delete one first',
  'scim-adopt': 'the source needs a connection with authority over a domain, to know whose addresses are confirmed',
  'connection.taken': 'a connection with this id already exists',
  'connection.still-named':
    'the client {client} still names a connection that had this id: change that client first, or choose another id',
  'connection.issuer-address': 'the issuer must be an https URL with a public host, without query and fragment',
  'connection.discovery':
    'the discovery document of the issuer could not be read: it must be JSON at /.well-known/openid-configuration below the issuer, over https and from a public address',
  'connection.discovery-form':
    'the discovery document has no authorization_endpoint, token_endpoint or jwks_uri: this is not an OpenID Provider',
  'connection.other-issuer':
    'the discovery document names another issuer: enter the issuer exactly as the document says, with or without its last slash',
  'connection.inward-address':
    'the discovery document contains a URL that is not https, or not public: the service does not connect to it',
  'connection.directory-address':
    'the address of the directory must be ldaps://host:port, or ldap://host:port with starttls',
  'connection.directory-plain':
    'ldap:// without StartTLS would send passwords unencrypted: use ldaps://, or starttls, unless the directory is on the same machine',
  'connection.directory-not-allowed':
    'the directory is not in CONNECTIONS_ALLOW: an operator must name its host and port there',
  'connection.directory-filter': 'a filter is not a valid LDAP filter, such as (objectClass=person)',
  'connection.directory-name': 'a name of an entry must be like ou=people,dc=example,dc=com',
  'connection.import-off':
    'nothing is imported: the connection must be enabled, and its setting import must be a number of minutes',
  'connection.import-not-held': 'no import of this connection waits for an approval',
  'connection.import-changed': 'the import would now disable another number of users: read it again, then decide',
  'connection.secret': 'the connection needs a secret before it can be enabled',
  'connection.secret-moved':
    'an address of the connection now leads to another site, which must not get the stored secret: enter the secret again',
  'connection.secret-form': 'the secret must be the private key of the .p8 file, from its first line to its last',
  'connection.saml-unreachable': 'the metadata could not be read from this address',
  'connection.saml-metadata':
    'this is not the metadata of one SAML 2.0 identity provider with an address for HTTP-Redirect: it must be UTF-8 of at most 256 KiB, without a DOCTYPE',
  'connection.saml-key': 'the metadata names no key for signing',
  'connection.saml-fields': 'enter the metadata, or entity_id, sso_uri and certificates',
  'connection.saml-expired': 'a certificate has expired',
  'connection.saml-key-form': 'the secret must be the private key (PEM) of own_certificate: RSA of at least 2048 bits',
  'connection.saml-changed': 'the identity provider has published something else meanwhile: read it again, then decide',
  'connection.settings': 'the stored settings of the connection do not fit this version: save them again',
  'connection.preset': 'this kind of connection has no such preset',
  'connection.kind': 'this kind of connection is not built in',
  'connection.attribute':
    'a rule sets {name}, which is neither a standard claim nor an attribute: create the attribute first',
  'connection.domain-held': 'a domain belongs to one connection, and {connection} has one of these',
  'connection.subject-claim':
    'the connection has links, and another value as the subject would link them to other users: delete the connection, and create another one',
  'links.undecided':
    'the user {user} has links that were made automatically ({connections}): keep each (user keep-link) or end it (user unlink) first',
  'links.no-way-in': 'the user {user} would have no way to sign in: create a recovery link first',
  'connection.version': 'the connection has changed since you read it: read it again, then save',
} as const;
