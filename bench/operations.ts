// Lists the measured operations, each with its counterpart on the bare reference and the peer, and its target against the peer.

export type SideName = 'service' | 'bare' | 'peer';

export interface Operation {
  key: OperationKey;
  name: string;
  /** The counterpart on the bare reference. */
  bare: string;
  /** The least multiple of the peer's rate. */
  targetPeer?: number;
  /** The highest number of connections for it. */
  most?: number;
}

export type OperationKey =
  | 'introspect-live'
  | 'introspect-inactive'
  | 'introspect-malformed'
  | 'introspect-jwt'
  | 'introspect-mtls'
  | 'forward-auth'
  | 'forward-auth-assertion'
  | 'client-credentials'
  | 'client-credentials-jwt'
  | 'token-exchange'
  | 'refresh'
  | 'device-poll'
  | 'userinfo'
  | 'userinfo-dpop'
  | 'userinfo-mtls'
  | 'code-flow'
  | 'sign-in-flow'
  | 'password'
  | 'discovery'
  | 'jwks'
  | 'settings-read'
  | 'settings-write'
  | 'scim-list'
  | 'scim-patch'
  | 'scim-create';

/** The highest number of connections that hash passwords: the hash dominates, and beyond this only the wait grows. */
export const maxPasswords = 32;

export const operations: Operation[] = [
  {
    key: 'introspect-live',
    name: 'Introspection, live opaque token',
    bare: '1 SELECT',
    targetPeer: 3.5,
  },
  { key: 'introspect-inactive', name: 'Introspection, inactive token', bare: '1 SELECT' },
  {
    key: 'introspect-malformed',
    name: 'Introspection, malformed token',
    bare: 'a POST without database',
  },
  { key: 'introspect-jwt', name: 'Introspection, JWT', bare: '1 verification, 1 SELECT' },
  { key: 'introspect-mtls', name: 'Introspection, token bound to a certificate', bare: '1 SELECT' },
  { key: 'forward-auth', name: 'Request to a protected site, identity headers', bare: '1 SELECT' },
  {
    key: 'forward-auth-assertion',
    name: 'Request to a protected site, with an assertion',
    bare: '1 SELECT, without a signature',
  },
  {
    key: 'client-credentials',
    name: 'Client credentials',
    bare: '1 INSERT',
    targetPeer: 2.0,
  },
  {
    key: 'client-credentials-jwt',
    name: 'Client credentials, JWT access token',
    bare: '1 INSERT, 1 signature',
  },
  { key: 'token-exchange', name: 'Token exchange', bare: '1 SELECT, 1 INSERT' },
  { key: 'refresh', name: 'Refresh', bare: '1 UPDATE with INSERT, 1 signature' },
  { key: 'device-poll', name: 'Poll of a device, undecided', bare: '1 UPDATE' },
  { key: 'userinfo', name: 'UserInfo', bare: '1 SELECT', targetPeer: 3.8 },
  { key: 'userinfo-dpop', name: 'UserInfo, token bound by DPoP', bare: '1 verification, 1 SELECT, 1 INSERT' },
  { key: 'userinfo-mtls', name: 'UserInfo, token bound to a certificate', bare: '1 SELECT, 1 digest' },
  {
    key: 'code-flow',
    name: 'Code flow, remembered session',
    bare: '3 requests: SELECT, INSERT; UPDATE with INSERT, 1 signature; SELECT',
    targetPeer: 2.0,
  },
  {
    key: 'sign-in-flow',
    name: 'Code flow with sign-in and consent, no password hash',
    bare: '5 requests: INSERT; SELECT, INSERT; INSERT; UPDATE with INSERT, 1 signature; SELECT',
    targetPeer: 2.2,
  },
  { key: 'password', name: 'Sign-in with password', bare: 'the hash alone', most: maxPasswords },
  { key: 'discovery', name: 'Discovery', bare: 'the same bytes, constant', targetPeer: 2.5 },
  { key: 'jwks', name: 'JWKS', bare: 'the same bytes, constant', targetPeer: 2.5 },
  { key: 'settings-read', name: 'User settings, read', bare: '1 SELECT' },
  { key: 'settings-write', name: 'User settings, write', bare: '1 UPDATE' },
  { key: 'scim-list', name: 'SCIM, page of 100 users', bare: '2 SELECT: the number of rows, and 100 of them' },
  { key: 'scim-patch', name: 'SCIM, change of a user', bare: '1 UPDATE' },
  { key: 'scim-create', name: 'SCIM, new user', bare: '1 INSERT' },
];

/** CPU of server and database together, at most this share of the peer's. */
export const targetCpu = 0.5;
/** MB of resident memory under load. */
export const targetMemory = 160;
/** p99 at the most connections, at most this multiple of that at 32. */
export const targetTail = 3;
