// The security requirements R1 to R112, each in a sentence; docs/security.md says where each is kept and which tests show it.

/** Headings of docs/security.md with their requirements: number and what holds. */
export const requirements: Record<string, Record<number, string>> = {
  'Authorization endpoint': {
    1: 'A request is checked in one order: its form, then the client, then the redirect URI; before these hold, nothing leads away from the service.',
    2: 'An unknown client, a disabled one and a wrong redirect URI cannot be told apart.',
    3: 'A browser that is not signed in goes to no client, unless with `prompt=none`, or by `ERROR_DELIVERY=standard`.',
    4: 'The request waits on the server under a random name that only this browser can use, once, for ten minutes; forms carry none of its parameters.',
    5: 'A parameter that is repeated, needed but empty, or no text is refused at every endpoint.',
    6: 'A client gets only the response types and modes that it registered, and a posted response is escaped.',
    7: 'Every response names the issuer and returns the state as it came; none of its characters can break a header.',
    8: 'HEAD, OPTIONS, prefetches and loads of anything but a page have no effect.',
    9: '`prompt=login` and `max_age` want a check of the password that is later than the request.',
    10: 'The answer to a form is a 303 within the service, the response to the client a 302; neither repeats the form elsewhere.',
    11: 'Consent shows who asks, where it leads, as whom and for what, is remembered for exactly that, and warns of a client that nobody approved.',
    12: 'The granted scope is what was asked, registered and consented to, and only ever shrinks.',
  },
  'Authorization codes': {
    13: 'A code is random and has no parts.',
    14: 'A code can be redeemed for a minute by the clock of the database.',
    15: 'Of any number of redemptions at once exactly one succeeds.',
    16: 'Everything is checked before a code is used up; a failed check spares it, and the fifth burns it.',
    17: 'A second redemption fails and ends what came of the first, unless it is the same client’s retry within seconds.',
    18: 'Each kind of secret has its own table and prefix; none stands in for another.',
    19: 'A session has few unredeemed codes for a client, and mints only so many a minute.',
  },
  PKCE: {
    20: 'S256 is a must for public clients and for those that registered for it; every other method is refused.',
    21: 'Challenge and verifier have exactly the form of the standard and are compared in constant time.',
    22: 'A verifier without a challenge, and a challenge without a verifier, redeem nothing.',
  },
  'Redirect URIs': {
    23: 'A redirect URI matches byte for byte; only the port of a native loopback address is free.',
    24: 'Only unambiguous https, loopback and private-use addresses can be registered, few and short.',
    25: 'All other addresses of a client keep to the same schemes, whoever writes them and how.',
  },
  'Tokens at rest': {
    26: 'Codes, tokens, handles and session ids are stored as digests only.',
    27: 'A secret is found by its whole digest: with one character more, less or other it is unknown.',
    28: 'Random client secrets are compared by a fast hash, never by a slow one that costs a flood.',
    29: 'What must be recovered is encrypted for its own place and is useless in another row.',
    30: 'No token passes as another kind; access tokens live ten minutes and not a millisecond more.',
  },
  'Refresh tokens': {
    31: 'Rotation spends the old token in the transaction that makes the new one.',
    32: 'For ten seconds a spent token serves the same client again, five times at most.',
    33: 'After that, any spent token of the family ends all of it.',
    34: 'That a token is spent is stored, and never a comparison of times.',
    35: 'Refresh, revocation and logout lock in one order, and after the answer nothing lives.',
    36: 'Each refresh asks again whether user, client, consent and session are good.',
  },
  'Client authentication': {
    37: 'A request has one means of authentication, the registered one, and one client.',
    38: 'Basic credentials are read strictly.',
    39: 'Unknown client, wrong secret and a disabled client get one answer in one time.',
    40: 'Secrets are made by the service, of 256 bits, and shown once.',
    41: 'Failures are limited for each client and network, and keep nobody else out.',
  },
  'Registration and outgoing requests': {
    42: 'A client can do nothing before its approval, and nothing more from the moment it is disabled.',
    43: 'Nobody changes an existing client without proof of being it.',
    44: 'A registration access token is for one client and gives no power.',
    45: 'A change that widens what was approved waits for approval.',
    46: 'An update replaces all metadata, touches nothing of the service’s own, and a deletion takes everything along.',
    47: 'One guarded fetcher makes every outgoing request: https, public addresses, no redirects, bounded in time and size.',
    48: 'Unknown metadata is dropped, reserved names are refused, and names for people are short, plain and composed.',
    49: 'Registrations are limited, those that wait are capped and expire, and enabled clients do not notice.',
  },
  'Sessions, cookies and forms': {
    50: 'The session cookie is random, for this service alone, and out of reach of scripts.',
    51: 'Two session cookies are none.',
    52: 'Sign-in and a change of power give a new session id, and the old one is gone.',
    53: 'A cookie in any odd shape means signed out, and is never an error.',
    54: 'Sessions end on the server, by time, by command, with the user or the password, and before the answer.',
    55: 'A form counts only with a token of its own browser, request and action, and from this site.',
    56: 'Anti-forgery tokens say nothing of the session id.',
    57: 'Nothing may be framed but the page of session management.',
  },
  'Sign-in': {
    58: 'Passwords are hashed by argon2id, and weak hashes get stronger at the next sign-in.',
    59: 'Passwords are taken as they are, from 12 to 128 characters, and common ones are refused.',
    60: 'Unknown, wrong, throttled and disabled look alike and take alike.',
    61: 'Failures count for the account, however its name is spelled.',
    62: 'An attempt is counted before it is hashed.',
    63: 'Throttling passes by itself up to a hundred failures in a row, and does not keep people out of their own browser.',
    64: 'Everything that takes a password has the same limit, and a limit that cannot be asked refuses.',
    65: 'A forwarded address is believed of configured proxies only.',
  },
  Logout: {
    66: 'Logout asks, and a bad hint leads nowhere.',
    67: 'A hint is an ID Token of this service, for this client; it may have expired.',
    68: 'One goes back only to an address that the proven client registered.',
    69: 'Logout ends session, handles and tokens, takes its cookies back, and can be sent twice.',
  },
  'Signed end-session request': {
    70: 'Its key is a secret of its own, made by the service.',
    71: 'It is signed by the one right algorithm, short-lived, for this service alone, and brings no key along.',
    72: 'It has one spelling and serves once.',
    73: 'It ends only the browser’s own session with the client that signed.',
    74: 'Its refusals say nothing about clients and sessions.',
  },
  Introspection: {
    75: 'The caller is known before the token is looked at.',
    76: 'Only who may know a token learns of it.',
    77: 'Every dead token looks alike.',
    78: 'That a token is malformed is told by its form alone.',
    79: 'Trouble with the database is no verdict on a token.',
    80: 'It is asked by form only, kept by nobody, and limited for each caller.',
  },
  'User operations': {
    81: 'A code becomes a handle within its minute or never.',
    82: 'A handle is enough only for clients that an administrator approved for it, and one that stood in a URL is replaced.',
    83: 'A handle outside of the Authorization header is refused and ended.',
    84: 'Everything that a request names is checked, and lists hold the caller’s own.',
    85: 'A handle dies with session, grant, user, client and consent.',
  },
  'User settings': {
    86: 'User and client come from the credentials, never from the request.',
    87: 'Keys, depth and size are bounded, also when many write at once.',
    88: 'Reserved names are refused, and nothing is merged into an object.',
  },
  Administration: {
    89: 'Every admin route is closed by itself, in whatever spelling it is called.',
    90: 'An approval is for the version that was looked at.',
    91: 'Acts of power need a fresh password and leave a record that cannot be changed.',
    92: 'The first administrator is made once, by who operates the service.',
    93: 'What clients say of themselves is shown as text, and linked only by https.',
  },
  Keys: {
    94: 'Published keys are public halves, and none is of a shared secret.',
    95: 'A key is published before it signs and until its last token ended, and starts at once make one set.',
  },
  Headers: {
    96: 'Pages load nothing foreign, are not kept, and tell nobody where one comes from.',
    97: 'Scripts of other origins may call five kinds of address, without credentials.',
    98: 'Addresses come from the configuration, never from the request.',
  },
  Logging: {
    99: 'No secret reaches a log, a metric or an error.',
    100: 'A server error says only its reference; the rest is in the log.',
    101: 'What matters for security is a named event, and nobody can forge a line.',
  },
  Exhaustion: {
    102: 'Password hashing is bounded and queued, so that tokens and keys are served beside a flood.',
    103: 'Bodies, addresses, headers, parameters and JSON are bounded.',
    104: 'Slow requests are cut off.',
    105: 'Whatever strangers can fill has a cap and an end.',
    106: 'Each endpoint reads one content type and changes no type of a value.',
    107: 'Text that is none is refused at the edge.',
  },
  'Database trouble': {
    108: 'Without the database the answer is a quick 503, nobody is signed out, and keys and discovery are served.',
    109: 'The process survives its connections and recovers by itself.',
    110: 'Conflicts are retried a little, and no token is answered that was not stored.',
  },
  'Start-up': {
    111: 'Missing, short, sample and doubled secrets, and an issuer that is no https address, stop the start.',
  },
  'Supply chain': {
    112: 'Dependencies are locked, run no scripts, are not fresh from the press, and have no known vulnerability.',
  },
};

/** The attack cases; their words stand with their tests in test/attacks. Numbers have gaps. */
export const attackCases = [
  ...[
    1, 2, 5, 6, 8, 10, 12, 14, 15, 16, 17, 18, 20, 21, 22, 23, 25, 30, 31, 33, 35, 36, 37, 38, 39, 40, 42, 44, 45, 46,
  ],
  ...[47, 48, 49, 51, 53, 56, 59, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 75, 77, 78, 79, 80, 81, 82, 83, 84],
  ...[86, 87, 90, 91, 92, 93, 95, 98, 99, 101, 103, 104, 105, 106, 108, 109, 110, 112, 113, 114, 115, 116, 117, 118],
  ...[121, 122, 123, 125, 126, 128],
];

/** The faults F1 to F21 with what must hold; beside each row: nothing half written, nothing revoked alive, no wrong verdict. */
export const faults: Record<number, [fault: string, rule: string]> = {
  1: [
    'Fifty redemptions of one code at once, on one and on several processes',
    'Exactly one succeeds, and none is a server error.',
  ],
  2: [
    'Five and fifty refreshes with one token at once',
    'Five succeed; of fifty the first and those within the grace count.',
  ],
  3: ['Refresh beside revocation, logout, end-session and reuse', 'Nothing lives afterwards, and nothing deadlocks.'],
  4: [
    'Fifty wrong passwords at once, then the right one from a known browser',
    'No more than the limit is hashed, and the person gets in.',
  ],
  5: [
    'A process killed at any point of `/token`',
    'A retry succeeds or fails for good; there are never two live families.',
  ],
  6: ['The connection cut at COMMIT', 'No token is answered, and the loss is logged once.'],
  7: [
    'Database sessions terminated in a loop',
    'The process lives, errors are no more than the kills, and it recovers within ten seconds.',
  ],
  8: [
    'The database frozen for a while',
    '503 within three seconds, keys and discovery are served, nothing happens late and twice.',
  ],
  9: ['The pool exhausted by long transactions', '503 within three seconds, and no queue without bound.'],
  10: ['No database at the start', 'Not ready, then ready, without a restart.'],
  11: ['A database that only reads', '503 for writes; nobody is signed out and nothing is judged.'],
  12: ['Serialization failures and deadlocks by force', 'Three retries at most, then 503; never 500.'],
  13: ['Four hundred sign-ins at once', '503 or 429 past the queue; keys and refreshes stay quick.'],
  14: ['Five hundred slow sockets and two hundred idle ones', 'They are cut off, and others are served.'],
  15: ['A flood of registrations, locales, scopes and names', 'The caps hold, and approved clients do not notice.'],
  16: [
    'A spent refresh token after a restart, and after an old backup came back',
    'It is dead, or a new sign-in is asked for; never silently alive.',
  ],
  17: ['Wrong clocks of the process and of the database', 'Lifetimes follow the clock of the database.'],
  18: ['Keys rotated under load', 'No signature fails at a client that keeps the key set.'],
  19: ['A migration while the previous version serves', 'No sign-in fails.'],
  20: ['Hours of steady load', 'Rows, memory and times stay level.'],
  21: ['A search for marked secrets after all of these', 'None is in logs, traces or metrics.'],
};
