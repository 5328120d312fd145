// Names the options of the commands that create and change a client.

/** The options of the members that most clients have, by shorter names than the members'. */
export const usualOptions = {
  name: 'client_name',
  'redirect-uri': 'redirect_uris',
  'post-logout-redirect-uri': 'post_logout_redirect_uris',
  'backchannel-logout-uri': 'backchannel_logout_uri',
  'application-type': 'application_type',
  'grant-type': 'grant_types',
  scope: 'scope',
  'resource-uri': 'resource_uris',
  'authorization-details-type': 'authorization_details_types',
  'auth-method': 'token_endpoint_auth_method',
  jwks: 'jwks',
  'jwks-uri': 'jwks_uri',
  fapi2: 'fapi2',
  'id-token-claims': 'id_token_claims',
  'dpop-bound-access-tokens': 'dpop_bound_access_tokens',
  'tls-client-auth-subject-dn': 'tls_client_auth_subject_dn',
  'tls-client-certificate-bound-access-tokens': 'tls_client_certificate_bound_access_tokens',
  'first-party': 'first_party',
  'required-acr': 'required_acr',
};

/** Beside the usual options, those of what the client had before (delivery 2). */
export const createOptions = {
  ...usualOptions,
  'start-uri': 'start_uri',
  host: 'hosts',
  'open-path': 'open_paths',
  'saml-preset': 'saml_preset',
  'saml-metadata-file': 'saml_metadata',
  'saml-metadata-uri': 'saml_metadata_uri',
  'entity-id': 'entity_id',
  'acs-uri': 'acs_uris',
  'slo-uri': 'slo_uri',
  'name-id': 'name_id',
  'idp-initiated': 'idp_initiated',
  kind: 'kind',
  'client-id': 'client_id',
  'client-secret-file': 'client_secret',
  'weak-secret': 'weak_secret',
  development: 'development',
  verbose: 'verbose',
};

/** The usual options, and each further member by its own name. Approval and disabling have their own commands. @param members those that a change may have */
export const changeOptions = (members: readonly string[]): Record<string, string> => ({
  ...usualOptions,
  ...Object.fromEntries(
    members
      .filter((member) => member !== 'status' && !Object.values<string>(usualOptions).includes(member))
      .map((member) => [member.replaceAll('_', '-'), member]),
  ),
});
