// Words the rules of client metadata about certificates, bound tokens, FAPI 2.0 and backchannel requests, for refusals.ts.

/** Rules for one member. */
export const certificateMemberRules = {
  'distinguished-name': 'must be a distinguished name as RFC 4514 writes it, such as CN=client,O=Example,C=DE',
  'host-name': 'must be a host name, such as app.example.com',
  'host-address': 'must be an IP address',
  'choice.delivery': 'must be poll or ping',
} as const;

/** Rules for several members; each sentence is whole. */
export const boundClientRules = {
  'dpop.response': 'dpop_bound_access_tokens does not allow response types with token, which no proof protects',
  'dpop.certificate': 'tls_client_certificate_bound_access_tokens does not allow response types with token',
  'certificate.off': 'tls_client_certificate_bound_access_tokens: this service takes no certificates of clients',
  'certificate-name.missing': 'tls_client_auth requires tls_client_auth_subject_dn or one tls_client_auth_san_ member',
  'certificate-name.several': 'tls_client_auth allows only one of tls_client_auth_subject_dn and tls_client_auth_san_',
  'key.certificate': 'jwks contains a key whose x5c does not begin with a certificate of this key',
  'fapi2.method': 'fapi2 requires token_endpoint_auth_method {methods}',
  'fapi2.grant': 'fapi2 allows only the grant types {grants}',
  'fapi2.response': 'fapi2 allows only the response type code',
  'fapi2.uma': 'fapi2 does not allow uma_profile',
  'fapi2.algorithm': 'fapi2 requires PS256, ES256 or EdDSA as {member}',
  'backchannel.endpoint': 'backchannel_token_delivery_mode ping requires backchannel_client_notification_endpoint',
  'backchannel.keys': 'backchannel_authentication_request_signing_alg {alg} requires jwks or jwks_uri',
  'fapi2.redirect-uri': 'fapi2 requires https in redirect_uris, or http on a loopback address for a native application',
} as const;
