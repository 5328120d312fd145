// Lists the security requirements R1 to R127, each in a sentence; docs/security.md lists the files that implement each, and its tests.

/** Headings of docs/security.md with their requirements: number and sentence. */
export const requirements: Record<string, Record<number, string>> = {
  'Authorization endpoint': {
    1: 'The service checks a request in one order: its form, then the client, then the redirect URI; before these hold, it never redirects outside.',
    2: 'An unknown client, a disabled one and a wrong redirect URI cannot be distinguished.',
    3: 'A browser without a session is redirected to no client, except with `prompt=none` or `ERROR_DELIVERY=standard`.',
    4: 'The request waits on the server under a random name that only this browser can use, once, for ten minutes; forms carry none of its parameters.',
    5: 'A parameter that is repeated, required but empty, or not valid text is refused at every endpoint.',
    6: 'A client gets only the response types and modes that it registered, and a posted response is escaped.',
    7: 'Every response names the issuer and returns the state unchanged; none of its characters can break a header.',
    8: 'HEAD, OPTIONS, prefetches and loads of anything but a page have no effect; only `prompt=none` in a frame is answered, by its redirect and never by a page.',
    9: '`prompt=login` and `max_age` require a check of the password that is later than the request.',
    10: 'The answer to a form is a 303 within the service, the response to the client a 302; neither repeats the form elsewhere.',
    11: 'Consent shows which client asks, where the browser goes, as which user and for what; it is remembered for exactly that, and warns of a client that no administrator approved.',
    12: 'The granted scope contains only what was requested, registered and consented to, and it only ever shrinks.',
  },
  'Authorization codes': {
    13: 'A code is random, and contains no data.',
    14: 'A code can be redeemed for a minute, by the clock of the database.',
    15: 'Of any number of concurrent redemptions exactly one succeeds.',
    16: 'Everything is checked before a code is used up; a failed check leaves it valid, and the fifth failed check ends it.',
    17: 'A second redemption fails and ends everything that the first one issued, unless it is the same client’s retry within seconds.',
    18: 'Each type of secret has its own table and prefix; none is accepted in place of another.',
    19: 'A session has few unredeemed codes for a client, and gets only a limited number a minute.',
  },
  PKCE: {
    20: 'S256 is required for public clients and for clients that registered for it; every other method is refused.',
    21: 'Challenge and verifier have exactly the form of the standard and are compared in constant time.',
    22: 'A verifier without a challenge, and a challenge without a verifier, redeem no code.',
  },
  'Redirect URIs': {
    23: 'A redirect URI matches byte for byte; only the port of a native loopback address is free, `localhost` included unless a setting says otherwise.',
    24: 'Only unambiguous https, loopback and private-use addresses can be registered, few and short; `localhost` is a loopback address unless a setting says otherwise.',
    25: 'All other addresses of a client keep to the same schemes, by whichever route they are written.',
  },
  'Tokens at rest': {
    26: 'Codes, tokens, handles and session ids are stored as digests only.',
    27: 'A secret is found by its whole digest: with one character more, less or other it is unknown.',
    28: 'Random client secrets are compared by a fast hash; a slow one would make a flood of requests expensive.',
    29: 'A secret that must be recovered is encrypted for its own place and is useless in another row.',
    30: 'No token is accepted as another type; access tokens live ten minutes and not a millisecond more.',
  },
  'Refresh tokens': {
    31: 'Rotation spends the old token in the transaction that creates the new one.',
    32: 'For ten seconds a spent token still works for the same client, five times at most.',
    33: 'After that, any spent token of the family ends the whole family.',
    34: 'The database stores that a token is spent; the service never infers it from times.',
    35: 'Refresh, revocation and logout take their locks in one order, and after the answer no token of the family lives.',
    36: 'Each refresh checks again that user, client, consent and session are valid.',
  },
  'Client authentication': {
    37: 'A request has one authentication method, the registered one, and one client; a secret may be in the header or in the form.',
    38: 'Basic credentials are parsed strictly.',
    39: 'An unknown client, a wrong secret and a disabled client get the same answer in the same time.',
    40: 'The service generates secrets of 256 bits, and shows each once.',
    41: 'Failures are limited for each client and network. A right secret still works in a network past its limit; an assertion is not verified there.',
  },
  'Registration and outgoing requests': {
    42: 'A client can do nothing before its approval, and nothing more from the moment it is disabled.',
    43: 'A request changes an existing client only with proof that it comes from that client.',
    44: 'A registration access token is for one client and grants no other rights.',
    45: 'A change that widens what was approved waits for approval.',
    46: 'An update replaces all metadata and sends the service’s own members unchanged or not at all; a deletion removes all data of the client.',
    47: 'One guarded fetcher makes every outgoing request: https, public addresses, no redirects, bounded in time and size.',
    48: 'Unknown metadata is dropped, reserved names are refused, and display names are short, plain and composed.',
    49: 'Registrations are limited; pending ones are capped and expire, and enabled clients do not notice.',
  },
  'Sessions, cookies and forms': {
    50: 'The session cookie is random, for this service alone, and out of reach of scripts.',
    51: 'Two session cookies of this issuer in one request count as signed out, and both expire; one of another issuer is left alone.',
    52: 'Sign-in and a change of privileges give a new session id, and the old one is invalid.',
    53: 'A malformed cookie counts as no session, and is never an error.',
    54: 'Sessions end on the server, by time, by command, with the user or the password, and before the answer.',
    55: 'A form is accepted only with a token of its own browser, request and action, and only from this site.',
    56: 'Anti-forgery tokens reveal nothing about the session id.',
    57: 'No page may be framed except the page of session management.',
  },
  'Sign-in': {
    58: 'Passwords are hashed with argon2id, and weak hashes are replaced by stronger ones at the next sign-in.',
    59: 'Passwords of any characters, from 12 to 128, are accepted whole and normalized (NFKC), and common ones are refused.',
    60: 'An unknown name, a wrong password, a throttled and a disabled account get the same answer in the same time.',
    61: 'Failures count for the account, however its name is spelled.',
    62: 'An attempt is counted before its password is hashed.',
    63: 'Throttling ends by itself up to a hundred failures in a row, and does not lock users out of their own browser.',
    64: 'Every request that contains a password has the same limit, and it is refused when the limit cannot be checked.',
    65: 'A forwarded address is accepted only from configured proxies.',
  },
  Logout: {
    66: 'Logout asks the user, and a bad hint leads to no redirect.',
    67: 'A hint is an ID Token of this service, for this client; it may have expired.',
    68: 'The browser returns only to an address that the proven client registered.',
    69: 'Logout ends session, handles and tokens, expires its cookies, and can be sent twice.',
  },
  'Signed end-session request': {
    70: 'Its key is a secret of its own, which the service generates.',
    71: 'It is signed with the one right algorithm, short-lived, for this service alone, and carries no key of its own.',
    72: 'It has one spelling and works once.',
    73: 'It ends only the browser’s own session with the client that signed.',
    74: 'Its refusals reveal nothing about clients and sessions.',
  },
  Introspection: {
    75: 'The client is authenticated before the token is checked.',
    76: 'Only a client that may know a token learns about it.',
    77: 'Every inactive token gets the same answer.',
    78: 'Whether a token is malformed is decided by its form alone.',
    79: 'A failure of the database is never a verdict on a token.',
    80: 'The request is a form, the answer is not cached, and each client has a limit.',
  },
  'User operations': {
    81: 'A code becomes a handle within its minute or never.',
    82: 'A handle alone is accepted only from clients that an administrator approved for it, and one that appeared in a URL is replaced.',
    83: 'A handle outside the Authorization header is refused and ended.',
    84: 'Everything that a request names is checked, and lists contain only the caller’s own data.',
    85: 'A handle ends with session, grant, user, client and consent.',
  },
  'User settings': {
    86: 'User and client come from the credentials, never from the request.',
    87: 'Keys, depth and size are bounded, also under concurrent writes.',
    88: 'Reserved names are refused, and values are never merged into an object.',
  },
  Administration: {
    89: 'Every admin route checks access itself, in every spelling of its address.',
    90: 'An approval is for the version that the administrator reviewed.',
    91: 'Privileged operations need a recent password and leave a record that cannot be changed.',
    92: 'The first administrator is created once, by the operator of the service.',
    93: 'What clients say about themselves is shown as text, and linked only by https.',
  },
  Keys: {
    94: 'Published keys are public keys, and none comes from a shared secret.',
    95: 'A key is published before it signs and until its last token expires, and concurrent starts create one set.',
  },
  Headers: {
    96: 'Pages load nothing from other sites, are not cached, and send no referrer.',
    97: 'Scripts of other origins may call the addresses that browser applications need, registration among them, without credentials.',
    98: 'Addresses come from the configuration, never from the request.',
  },
  Logging: {
    99: 'No secret reaches a log, a metric or an error.',
    100: 'A server error shows only its reference; the rest is in the log.',
    101: 'Every security-relevant operation is a named event, and no request can forge a line.',
  },
  Exhaustion: {
    102: 'Password hashing is bounded and queued, so that tokens and keys are still served during a flood.',
    103: 'Bodies, addresses, headers, parameters and JSON are bounded.',
    104: 'Slow requests are cut off.',
    105: 'Everything that unauthenticated requests can fill has a limit and expires.',
    106: 'Each endpoint accepts one content type and converts no value to another type.',
    107: 'Invalid text is refused before any other processing.',
  },
  'Database trouble': {
    108: 'Without the database the answer is a quick 503, no user is signed out, and keys and discovery are served.',
    109: 'The process survives lost connections and recovers by itself.',
    110: 'Conflicts are retried a few times, and no answer contains a token that was not stored.',
  },
  'Start-up': {
    111: 'A missing, short, sample or duplicate secret, or an issuer that is not an https address, stops the start.',
  },
  'Supply chain': {
    112: 'Dependencies are locked, run no scripts, are not newly published, and have no known vulnerability.',
  },
  'Found by attack': {
    113: 'For a client that was never enabled the service verifies no signature and fetches nothing; the limit of the network is checked before the work.',
    114: 'Keys of clients have bounded sizes and number, a signature is tried against four at most, and a set is searched once.',
    115: 'A token for a resource of another server opens no address of the service and holds no scope of an administrator; no client can register an address of the service as its resource.',
    116: 'A client’s changes are pending once it was ever approved, and enabling the client puts none of them in force.',
    117: 'A change of what users see, or to a weaker authentication, waits for approval.',
    118: 'A change of the e-mail address ends with its session or with a new password, and the previous address can stop it.',
    119: 'Of an authorization request only known parameters are stored, up to a size, and only a limited number from one network may be pending.',
    120: 'An Idempotency-Key is random, and repeats an answer only until the client is first enabled.',
    121: 'When a refresh token is reused within the grace period, one line of its successors survives the period; a token of another line counts as reuse.',
    122: 'Introspection confirms only what the service signed or stored: an ID Token by HS256 is answered to its own client alone.',
    123: 'Codes for the console go to its exact address, even if the port may differ for other clients.',
    124: 'Names and texts of registrants in mail are short, contain no address, and are labelled unverified.',
    125: 'Two statements never have the same name, and no value becomes part of the text of a statement.',
    126: 'All output goes through the logger, and no cell of an exported CSV file is a formula.',
    127: 'A second factor of a new kind is required as soon as its table is defined, and a factor that would not be required cannot be set up.',
  },
  'Protocols beyond OpenID Connect': {
    133: 'Nothing is issued unless the user, the client at its epoch, the consent, the session and the access of the user allow it in the very transaction that stores it.',
    134: 'A token, handle, code or refresh token that is bound to a key is worth nothing without a proof of the key, at every address and by every scheme.',
    135: 'A DPoP proof is accepted once, for the configured address, the method, the key, the token and its minute.',
    137: 'A client with a FAPI 2.0 profile cannot, by any parameter, grant, address or update, get what the profile forbids.',
    138: 'Each JWT that the service signs or accepts has one type, and no reader takes another.',
    139: 'A token for one resource is refused by every other, those of this service included.',
    140: 'Only a signed-in user causes the service to fetch the document of a client; no such fetch reaches a private address, follows a redirect, or repeats within its minute.',
    141: 'The document of a client changes nothing that was approved until it is approved again.',
    143: 'Only a signed-in user can try user codes, ten times; a device is allowed or denied only by the act of a user on the full page.',
    148: 'A response or an introspection as a JWT has what the plain form would have, for one audience, for minutes, and nothing stands beside it.',
    151: 'Everything that further protocols let a stranger store has a limit and an end, and is deleted by an index.',
    152: 'While the database does not respond, each address of further protocols answers 503 within 3 seconds and issues nothing.',
  },
  'Found by attack, the second time': {
    153: 'One text never names two users or clients: names, addresses, subs and client ids have one key space, whose primary key decides on every database.',
    154: 'A user name that a user or a connection chooses has no control or format characters, and is no sentence and no address without authority over it; tries are counted, and no page tells whether an address has an account.',
    155: 'An import that updates changes no account that has a linked identity or another spelling of the name, unless the row names the account by its sub or by its identity.',
    156: 'The service remembers who confirmed an address, and the word of another system links no account without a question.',
    157: 'The word of a provider confirms an address only where the provider owns it, or an administrator trusts the provider.',
    158: 'An address is stored with the A-label of its domain, rules for domains apply to that form, and users cannot leave an enforced domain.',
    159: 'What came by a connection ends with it: unlinking, deleting and disabling end the client sessions and refresh tokens of the connection, also where the session in the browser is over.',
    160: 'Nothing that another site can make a browser send uses up a limit that sign-ins by connections need.',
    161: 'Beginning a sign-in by a connection is limited before any request goes out, and a connection that fails is tried once a second, with one event a minute.',
    162: 'A connection whose address is changed to another origin sends neither its stored secret nor its key there.',
    163: 'A typed name finds the entry that the first matching login attribute names alone, a name of several entries is an event, and a rule can name the entry of a group.',
    164: 'No host of `OUTBOUND_ALLOW` is fetched for a client that was never approved, unless `CLIENT_ID_METADATA_HOSTS` names it; a user has at most ten documents that wait, in a queue of their own.',
    165: 'The facts of a link are read after the user is locked, and no link that was made automatically gives access to an administrator.',
    166: 'An export to a terminal is cleaned like all output, the time to clean text for a mail is bounded, and an outgoing request prints nothing.',
  },
};

/** The numbers of the attack cases; the tests in test/attacks describe them. Numbers have gaps. */
export const attackCases = [
  ...[
    1, 2, 5, 6, 8, 10, 12, 14, 15, 16, 17, 18, 20, 21, 22, 23, 25, 30, 31, 33, 35, 36, 37, 38, 39, 40, 42, 44, 45, 46,
  ],
  ...[47, 48, 49, 51, 53, 56, 59, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 75, 77, 78, 79, 80, 81, 82, 83, 84],
  ...[86, 87, 90, 91, 92, 93, 95, 98, 99, 101, 103, 104, 105, 106, 108, 109, 110, 112, 113, 114, 115, 116, 117, 118],
  ...[121, 122, 123, 125, 126, 128],
];

/** The numbers of the attack cases P, on the protocols beyond OpenID Connect, as each is built. */
export const protocolCases = [
  1, 4, 5, 6, 7, 9, 10, 11, 13, 15, 16, 17, 18, 19, 29, 30, 31, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 44, 45, 46, 47,
  48, 49, 52, 53, 55, 56, 57, 62, 63, 65, 66, 93, 94, 95,
];

/** The numbers of the cases F on federation, which titles cite as “federation F22”, as each is built. */
export const federationCases = [
  2, 3, 5, 7, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 50, 52, 53, 54, 55,
  56, 57, 58, 59, 61, 62, 63, 64, 65, 66, 67, 68,
];

/** The faults F1 to F21 with their rules; for each of them also: no partial write, no active revoked token, no wrong answer. */
export const faults: Record<number, [fault: string, rule: string]> = {
  1: [
    'Fifty redemptions of one code at once, on one and on several processes',
    'Exactly one succeeds, and none is a server error.',
  ],
  2: [
    'Five and fifty refreshes with one token at once',
    'Five succeed; of fifty the first one and those that the grace period allows.',
  ],
  3: [
    'Refresh concurrent with revocation, logout, end-session and reuse',
    'No token is valid afterwards, and there is no deadlock.',
  ],
  4: [
    'Fifty wrong passwords at once, then the right one from a known browser',
    'No more than the limit is hashed, and the user can sign in.',
  ],
  5: [
    'A process killed at any point of `/token`',
    'A retry succeeds or fails finally; there are never two valid families.',
  ],
  6: ['The connection cut at COMMIT', 'The answer contains no token, and the loss is logged once.'],
  7: [
    'Database sessions terminated in a loop',
    'The process survives, there are no more errors than kills, and it recovers within ten seconds.',
  ],
  8: [
    'The database frozen for a while',
    '503 within three seconds, keys and discovery are served, nothing happens late or twice.',
  ],
  9: ['The pool exhausted by long transactions', '503 within three seconds, and no unbounded queue.'],
  10: ['No database at the start', 'Not ready, then ready, without a restart.'],
  11: ['A read-only database', '503 for writes; no user is signed out, and there is no verdict on a token.'],
  12: ['Forced serialization failures and deadlocks', 'Three retries at most, then 503; never 500.'],
  13: ['Four hundred sign-ins at once', '503 or 429 past the queue; keys and refreshes stay quick.'],
  14: ['Five hundred slow sockets and two hundred idle ones', 'They are cut off, and others are served.'],
  15: ['A flood of registrations, locales, scopes and names', 'The limits hold, and approved clients do not notice.'],
  16: [
    'A spent refresh token after a restart, and after an old backup was restored',
    'It is refused, or a new sign-in is required; it never works silently.',
  ],
  17: ['Wrong clocks of the process and of the database', 'Lifetimes follow the clock of the database.'],
  18: ['Keys rotated under load', 'No signature fails at a client that keeps the key set.'],
  19: ['A migration while the previous version serves', 'No sign-in fails.'],
  20: ['Hours of steady load', 'Rows, memory and times stay level.'],
  21: ['A search for marked secrets after all of these', 'Logs, traces and metrics contain none.'],
};
