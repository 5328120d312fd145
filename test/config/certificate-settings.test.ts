// The settings about certificates of clients: what the start of the service refuses in them, and of what it warns.
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { certificateConflict } from '../../src/config/mtls-types.ts';

const mtls = { MTLS_BASE_URL: 'https://mtls.id.example' };
const issuer = { BASE_URL: 'https://id.example' };
const proxy = { ...issuer, ...mtls, TRUST_PROXY: '10.0.0.1', CLIENT_CERT_HEADER: 'Client-Cert' };
const port = { ...issuer, ...mtls, MTLS_PORT: '8443', TLS_CERT_FILE: 'a.pem', TLS_KEY_FILE: 'a.key' };
const conflictOf = (environment: Record<string, string>) => {
  const config = loadConfig(environment);
  return certificateConflict(config, config.issuer)?.[0];
};

test('a proxy, the port, both and neither are accepted (protocols 3)', () => {
  for (const accepted of [
    {},
    issuer,
    proxy,
    port,
    { ...port, ...proxy },
    { ...proxy, CLIENT_CERT_VERIFY_HEADER: 'Verify' },
  ])
    expect(conflictOf(accepted), JSON.stringify(accepted)).toBeUndefined();
});

test.each<[string, Record<string, string | undefined>]>([
  ['MTLS_PORT', { ...port, MTLS_BASE_URL: undefined }],
  ['CLIENT_CERT_HEADER', { ...proxy, MTLS_BASE_URL: undefined }],
  ['MTLS_BASE_URL', { ...proxy, MTLS_BASE_URL: 'https://id.example' }],
  ['MTLS_BASE_URL', { ...proxy, MTLS_BASE_URL: 'https://mtls.id.example/path' }],
  ['MTLS_BASE_URL', { ...issuer, ...mtls }],
  ['TLS_CERT_FILE', { ...port, TLS_CERT_FILE: undefined }],
  ['TLS_KEY_FILE', { ...port, TLS_KEY_FILE: undefined }],
  ['TLS_KEY_FILE', { ...proxy, TLS_KEY_FILE: 'a.key' }],
  ['MTLS_CA_FILE', { ...proxy, MTLS_CA_FILE: 'ca.pem' }],
  // the header of any sender would count (security R136)
  ['CLIENT_CERT_HEADER', { ...proxy, TRUST_PROXY: undefined }],
  ['CLIENT_CERT_VERIFY_HEADER', { ...port, CLIENT_CERT_VERIFY_HEADER: 'Verify' }],
  ['CLIENT_CERT_VERIFY_HEADER', { ...proxy, CLIENT_CERT_VERIFY_HEADER: 'client-cert' }],
])('the start refuses %s in %j (protocols 3, security R136)', (name, environment) => {
  const given = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
  expect(conflictOf(Object.fromEntries(given))).toBe(name);
});

test.each([
  ['MTLS_BASE_URL', 'http://localhost:1'],
  ['CLIENT_CERT_HEADER', 'Authorization'],
  ['CLIENT_CERT_HEADER', 'X-Forwarded-For'],
  ['CLIENT_CERT_VERIFY_HEADER', 'a header'],
  ['CLIENT_CERT_FORMAT', 'der'],
])('%s=%s is refused (decisions section 8)', (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(`The setting ${name} must`);
});

test('the start warns where TRUST_PROXY contains every address (security R136)', () => {
  expect(loadConfig(proxy).notices).toEqual([]);
  for (const every of ['0.0.0.0/0', '10.0.0.1,::/0'])
    expect(loadConfig({ ...proxy, TRUST_PROXY: every }).notices).toEqual([expect.stringContaining('TRUST_PROXY')]);
});
