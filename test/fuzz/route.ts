// Describes a route, so that generated requests come close to valid ones; and the client metadata that several routes take.

/** Valid values of one parameter, `@name` for one of the world's. A parameter whose name ends in `?` is seldom sent. */
type Values = readonly string[];

export interface Route {
  path?: Record<string, Values>;
  query?: Record<string, Values>;
  form?: Record<string, Values>;
  /** Members of a JSON body with valid values. */
  json?: Record<string, readonly unknown[]>;
  /** Valid Authorization headers. */
  authorization?: Values;
  /** DPoP proofs for the address. */
  proof?: Values;
  /** Valid Cookie headers; also marks an address for browsers. */
  cookies?: Values;
  /** The documented statuses, besides those of a malformed request. */
  statuses: readonly number[];
}

export const metadata = {
  redirect_uris: [['https://rp.example.com/callback'], ['https://[::1]/cb'], []],
  client_name: ['Harbour'],
  'response_types?': [['code'], ['code id_token']],
  'grant_types?': [
    ['authorization_code', 'refresh_token'],
    ['authorization_code', 'implicit'],
  ],
  scope: ['openid email'],
  'contacts?': [['ops@example.com']],
  'logo_uri?': ['https://rp.example.com/logo.png'],
  'jwks?': [{ keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] }],
  'jwks_uri?': ['https://127.0.0.1:1/jwks'],
  'sector_identifier_uri?': ['https://127.0.0.1:1/sector'],
  'subject_type?': ['public', 'pairwise'],
  'token_endpoint_auth_method?': ['client_secret_basic', 'none', 'private_key_jwt'],
  'id_token_signed_response_alg?': ['RS256', 'EdDSA'],
  'authorization_signed_response_alg?': ['ES256', 'PS256'],
  'introspection_signed_response_alg?': ['RS256', 'HS256'],
  'default_max_age?': [60],
  'uma_profile?': [true],
  'id_token_claims?': [true],
  'post_logout_redirect_uris?': [['https://rp.example.com/callback']],
};
