// Lists what FAPI 2.0 demands of the service, each with the tests that show it; docs/conformance.md shows the list. SP is the Security Profile, MS is
// Message Signing.

export interface Demand {
  clause: string;
  demand: string;
  /** How a module of the certification suite answers a service that does otherwise. */
  suite?: 'fails' | 'warns';
  /** The beginnings of titles, by file of the folder test/; those without a file are in conformance/fapi2.test.ts. */
  tests: readonly (string | readonly [file: string, title: string])[];
}

const jarm = 'protocol/jwt-authorization-responses.test.ts';
const introspection = 'protocol/signed-introspection.test.ts';
const dpop = 'attacks/dpop.test.ts';
const certificates = 'conformance/fapi2-certificates.test.ts';
const port = 'protocol/mtls-port.test.ts';

export const demands: readonly Demand[] = [
  {
    clause: 'SP 5.3.2.1-1 to -6',
    demand: 'Clients authenticate with `private_key_jwt`. Assertions are signed by PS256, ES256 or EdDSA.',
    suite: 'fails',
    tests: [
      'by private_key_jwt with %s is accepted',
      'with RS256 is invalid_client',
      'with no signature, a shared secret, the public key as a secret, or a short RSA key is invalid_client',
      'by the key of another client, and without an assertion, is refused',
      'with %s is refused',
    ],
  },
  {
    clause: 'SP 5.3.2.1-5, -6',
    demand:
      'With certificates: clients authenticate by them, also where they push requests, and tokens are bound to them. Another certificate or none is refused.',
    suite: 'fails',
    tests: [
      [certificates, 'a request is pushed, redeemed and refreshed by the certificate'],
      [certificates, 'a push or a token request with the certificate of another client'],
      [certificates, 'Unbound at the token endpoint'],
    ],
  },
  {
    clause: 'RFC 8705 3.3, 5',
    demand:
      'With certificates: discovery has `tls_client_certificate_bound_access_tokens` and the addresses in `mtls_endpoint_aliases`.',
    suite: 'fails',
    tests: [[certificates, 'discovery says that tokens can be bound to certificates']],
  },
  {
    clause: 'SP 5.2.2',
    demand: 'TLS is 1.2 with the cipher suites of BCP 195, or 1.3. This is of `MTLS_PORT`; else it is up to the proxy.',
    suite: 'fails',
    tests: [[port, 'TLS is 1.2 with the recommended ciphers or 1.3']],
  },
  {
    clause: 'SP 5.3.2.1-3',
    demand: 'Only confidential clients.',
    tests: ['with %s is refused'],
  },
  {
    clause: 'SP 5.3.2.1-4, -5',
    demand: 'Access tokens are bound to a key. A token request without a proof is refused.',
    suite: 'fails',
    tests: ['is needed at every token request', 'is needed at a resource'],
  },
  {
    clause: 'SP 5.3.2.1-8',
    demand: '`aud` of an assertion is the issuer, as one string.',
    suite: 'fails',
    tests: ['accepts as aud the issuer as one string only'],
  },
  {
    clause: 'SP 5.3.2.1-9',
    demand: 'Refresh tokens do not rotate. An earlier one still works after 30 seconds.',
    suite: 'fails',
    tests: ['are refreshed by the same refresh token again and again'],
  },
  {
    clause: 'SP 5.3.2.1-10',
    demand: 'A code is valid only for its own client, redirect URI and verifier.',
    suite: 'fails',
    tests: ['are refused for a code of another client or with another redirect_uri or verifier'],
  },
  {
    clause: 'SP 5.3.2.1-11',
    demand:
      'A code is valid for at most 60 seconds, and once. A second redemption gets `invalid_grant` and ends the tokens.',
    suite: 'warns',
    tests: ['come from a code that lives at most 60 seconds', 'of a code that is used again end at once'],
  },
  {
    clause: 'SP 5.3.2.1-12',
    demand:
      'A code can be bound to the key. Another key or none gets `invalid_grant`, and `dpop_jkt` must agree with the proof.',
    suite: 'fails',
    tests: ['binds the code where the request names a key'],
  },
  {
    clause: 'SP 5.3.2.1-13',
    demand: '`iat` and `nbf` of an assertion may be up to 10 seconds ahead, and not 60.',
    suite: 'fails',
    tests: ['accepts iat and nbf 8 seconds ahead, and refuses them 61 seconds ahead'],
  },
  {
    clause: 'SP 5.3.2.2-1',
    demand: 'Only the response type `code`.',
    suite: 'fails',
    tests: ['with %s is refused at /par', 'with %s is refused'],
  },
  {
    clause: 'SP 5.3.2.2-2, -3',
    demand: 'Requests are pushed by the authenticated client. No other request gets a code.',
    suite: 'fails',
    tests: [
      'around the push gets no code',
      'by the key of another client, and without an assertion, is refused',
      ['conformance/fapi2-setting.test.ts', 'the metadata say that every request is pushed'],
    ],
  },
  {
    clause: 'SP 5.3.2.2-5, -6',
    demand: 'A request has `redirect_uri` and PKCE with S256.',
    suite: 'fails',
    tests: ['with %s is refused at /par'],
  },
  {
    clause: 'SP 5.3.2.2-7',
    demand: 'Each response has `iss`. If the user denies the request, the error is `access_denied`.',
    suite: 'fails',
    tests: ['that is pushed gets a code with iss', 'that the user denies is access_denied with iss'],
  },
  {
    clause: 'SP 5.3.2.2-8',
    demand: 'Redirect URIs are https, or loopback addresses of native applications.',
    tests: ['with %s is refused', 'accepts http on a loopback address for a native application'],
  },
  {
    clause: 'SP 5.3.2.2-10',
    demand: 'After a form with credentials the service redirects by 303.',
    tests: ['goes on from the form with the password by 303'],
  },
  {
    clause: 'SP 5.3.2.2-11',
    demand:
      'A `request_uri` is valid for less than 600 seconds and once, for its client. It can be loaded twice before the user acts.',
    suite: 'fails',
    tests: [
      'that is pushed gets a code with iss, by a request_uri that lives under ten minutes',
      'loaded twice before the user acts is answered once',
      'that is opened after its time gets no code',
    ],
  },
  {
    clause: 'SP 5.3.2.2-14',
    demand: 'A nonce of 64 characters is accepted, and a longer one is returned unchanged.',
    suite: 'fails',
    tests: ['with a nonce of 64 characters is answered'],
  },
  {
    clause: 'SP 5.3.4',
    demand: 'A token is accepted only in the header, and the case of the scheme does not matter.',
    suite: 'fails',
    tests: ['count in the header only', 'is needed at a resource, under the scheme in any case'],
  },
  {
    clause: 'SP 5.4',
    demand:
      'Signatures are by PS256, ES256 or EdDSA with keys of 2048 bits or more. Discovery has one of them in each list.',
    suite: 'fails',
    tests: [
      'have an ID Token by ES256 unless the client registered another allowed algorithm',
      'with no signature, a shared secret, the public key as a secret, or a short RSA key is invalid_client',
      'has an allowed algorithm in each list',
    ],
  },
  {
    clause: 'SP 5.3.2',
    demand:
      'A client cannot leave or lower its profile by itself. The setting `FAPI2` demands a profile of all clients.',
    tests: [
      'sets what the profile prescribes',
      'that takes the profile off or lowers it waits for an administrator',
      ['conformance/fapi2-setting.test.ts', 'a registration gets the profile'],
      ['conformance/fapi2-setting.test.ts', 'a client from before the setting is no longer served'],
    ],
  },
  {
    clause: 'RFC 9449 4.3',
    demand:
      'A proof within 10 seconds is accepted. A proof of an hour ago or ahead is refused. `nbf` and `exp` are ignored.',
    suite: 'fails',
    tests: ['accepts a proof %s', 'refuses a proof %s', [dpop, 'Old and early proofs']],
  },
  {
    clause: 'RFC 9449 4.3, item 11',
    demand: 'A proof with a valid nonce is accepted once, with any `iat`.',
    suite: 'fails',
    tests: [[dpop, 'a proof with a good nonce counts whatever its time says']],
  },
  {
    clause: 'RFC 9449 4.3',
    demand: 'The case of the host and a default port in `htu` do not matter.',
    suite: 'warns',
    tests: ['accepts a proof %s', ['oauth/dpop-proof.test.ts', '%s is the same']],
  },
  {
    clause: 'RFC 9449 11.1',
    demand: 'A proof is refused at its second use.',
    suite: 'warns',
    tests: ['refuses a proof that was used before'],
  },
  {
    clause: 'MS 5.3.1',
    demand: 'Each pushed request must be an object with a valid signature. Otherwise the answer is an error as JSON.',
    suite: 'fails',
    tests: [
      'is required at /par, and gets a response as a JWT',
      'is required of a client with the Security Profile that registered so, whose responses stay plain',
      '%s is refused as JSON',
    ],
  },
  {
    clause: 'MS 5.3.1',
    demand:
      'The object has `aud`, and recent `nbf` and `exp`. An `nbf` 8 seconds ahead and a list as `aud` are accepted.',
    suite: 'fails',
    tests: [
      '%s is refused as JSON',
      'whose nbf is 8 seconds ahead, or whose aud is a list with the issuer, is accepted',
      'of a client with the Security Profile obeys the same rules where it is sent',
    ],
  },
  {
    clause: 'MS 5.3.1',
    demand: 'An object with `jti` is accepted once.',
    tests: ['with a jti is accepted once'],
  },
  {
    clause: 'RFC 9101 6.3',
    demand: 'Parameters beside the object are ignored.',
    suite: 'fails',
    tests: ['alone counts: the parameters beside it at /par and at /authorize do not'],
  },
  {
    clause: 'MS 5.4',
    demand: 'Each authorization response is a JWT.',
    suite: 'fails',
    tests: ['is a JWT or refused', 'is required at /par, and gets a response as a JWT'],
  },
  {
    clause: 'JARM 2.1',
    demand:
      'The JWT has `iss`, `aud`, `exp` within ten minutes, and the parameters, even for errors. There is no other parameter.',
    suite: 'fails',
    tests: [
      [jarm, 'with a code by %s is one JWT by %s, and nothing is beside it'],
      [jarm, 'that is the error %s for %j is a JWT, too'],
      [jarm, 'that is access_denied or login_required of a signed-out browser is a JWT, too'],
    ],
  },
  {
    clause: 'JARM 2.2, 2.3.1',
    demand: 'With `query.jwt`, tokens must be encrypted. If the key no longer exists, the user sees a page.',
    tests: [
      [jarm, 'for a response with tokens is refused, by a JWT in the fragment'],
      [jarm, 'gets neither a response nor an error by its redirect URI'],
    ],
  },
  {
    clause: 'JARM 3, 4',
    demand: 'Clients register the algorithms. Discovery lists them, even if a list is short.',
    suite: 'fails',
    tests: [[jarm, 'returns the registered algorithms'], 'has an allowed algorithm in each list'],
  },
  {
    clause: 'MS 5.5, RFC 9701',
    demand: 'Introspection responses are signed, for one audience.',
    tests: [
      'to an introspection is a JWT by ES256, whatever the caller accepts',
      [introspection, 'a caller that accepts it gets the members of the plain response in a signed JWT'],
      [introspection, 'every inactive token gets active false alone in a signed JWT'],
    ],
  },
  {
    clause: 'plans',
    demand: 'Private key and DPoP with OpenID Connect: plain requests, signed requests, JARM, and client credentials.',
    suite: 'fails',
    tests: ['signs in with OpenID Connect by %s, and reads UserInfo', 'gets a token of its own by client credentials'],
  },
];
