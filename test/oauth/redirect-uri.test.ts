// Redirect URIs are accepted for registration, compared with requests, and extended with response parameters: tables of cases.
import { describe, expect, test } from 'vitest';
import {
  isDevelopmentUri,
  isPrivateUseUri,
  isRedirectUri,
  isWebUri,
  matchesRedirectUri,
  redirectRefusal,
  withQuery,
} from '../../src/oauth/redirect-uri.ts';
import { sentenceOf } from '../../src/oauth/refusals.ts';

const begin = 'redirect_uris contains a URI that is not allowed: ';
const advice = (uri: string, type: 'web' | 'native', localhost?: boolean) => {
  const sentence = sentenceOf(redirectRefusal('redirect_uris', uri, type, localhost));
  expect(sentence.startsWith(begin)).toBe(true);
  return sentence.slice(begin.length);
};

describe('a redirect URI', () => {
  test.each([
    'https://rp.example.com',
    'https://rp.example.com/',
    'https://rp.example.com/cb',
    'https://rp.example.com:8443/cb?tenant=1&x=%20',
    'http://127.0.0.1/cb',
    'http://127.0.0.1:8080/cb',
    'http://[::1]/cb',
    'http://localhost',
    'http://localhost/cb',
    'http://localhost:8080/cb?x=1',
    `https://rp.example.com/${'x'.repeat(1975)}`,
  ])('%s may be registered by web and native clients (security R24)', (uri) => {
    expect(isRedirectUri(uri, 'web')).toBe(true);
    expect(isRedirectUri(uri, 'native')).toBe(true);
    expect(isWebUri(uri)).toBe(true);
  });

  test.each(['com.example.app:/cb', 'com.example.app:/oauth/cb?x=1', 'org.example-2.app:/'])(
    '%s may be registered by native clients only (RFC 8252 7.1)',
    (uri) => {
      expect(isRedirectUri(uri, 'native')).toBe(true);
      expect(isRedirectUri(uri, 'web')).toBe(false);
      expect(isPrivateUseUri(uri)).toBe(true);
    },
  );

  test.each(['http://localhost', 'http://localhost/cb', 'http://localhost:8080/cb?x=1'])(
    '%s may not be registered without LOOPBACK_LOCALHOST (security R24)',
    (uri) => {
      expect(isRedirectUri(uri, 'native', false)).toBe(false);
      expect(isRedirectUri(uri, 'web', false)).toBe(false);
      expect(advice(uri, 'web', false)).toBe('use http://127.0.0.1 or http://[::1] instead of http://localhost');
    },
  );

  test.each<[string, 'web' | 'native', RegExp]>([
    ['http://10.0.0.1/cb', 'web', /^use https, since http is for 127\.0\.0\.1, \[::1\] and localhost only$/],
    ['myapp:/cb', 'native', /such as com\.example\.app:\/callback$/],
    ['com.example.app:/cb', 'web', /requires application_type native$/],
    ['/cb', 'web', /begins with https/],
    ['https://rp.example.com/cb#x', 'web', /remove the fragment/],
    ['https://rp.example.com:443/cb', 'web', /^write it in normalized form/],
  ])('%s of a %s client is refused with advice (security R24)', (uri, type, expected) => {
    expect(advice(uri, type)).toMatch(expected);
    expect(advice(uri, type)).toMatch(/^[ !#-[\]-~]+$/);
  });

  test.each([
    '',
    'rp.example.com/cb',
    '/cb',
    '//rp.example.com/cb',
    'http://rp.example.com/cb',
    'http://localhost./cb',
    'http://localhost.evil.example/cb',
    'http://LOCALHOST/cb',
    'http://localhost:80/cb',
    'http://localhost@evil.example/cb',
    'http://localhost/cb#x',
    'http://127.0.0.1.evil.example/cb',
    'http://127.1/cb',
    'http://0x7f000001/cb',
    'http://2130706433/cb',
    'https:/evil.example',
    'https:\\\\evil.example',
    'https://rp.example.com\\@evil.example/cb',
    'https://rp@evil.example/cb',
    'https://rp:pw@evil.example/cb',
    'https://rp.example.com/@evil',
    'https://rp.example.com/cb#',
    'https://rp.example.com/cb#x',
    'https://rp.example.com/cb%00',
    'https://rp.example.com./cb',
    'https://*.example.com/cb',
    'https://rp.example.com/*',
    'https://rp.example.com/a b',
    ' https://rp.example.com/cb',
    'https://rp.example.com/cb\n',
    'https://rp.example.com/../cb',
    'https://rp.example.com/./cb',
    'https://RP.example.com/cb',
    'HTTPS://rp.example.com/cb',
    'https://rp.example.com:443/cb',
    'https://rp.exämple.com/cb',
    'https://',
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'blob:https://rp.example.com/x',
    'file:///etc/passwd',
    'ftp://rp.example.com/cb',
    'urn:ietf:wg:oauth:2.0:oob',
    'myapp:/cb',
    'COM.example.app:/cb',
    'com.example.app:/cb#x',
    `https://rp.example.com/${'x'.repeat(2000)}`,
  ])('%j may not be registered (security R24)', (uri) => {
    expect(isRedirectUri(uri, 'web')).toBe(false);
    expect(isRedirectUri(uri, 'native')).toBe(false);
    expect(isWebUri(uri)).toBe(false);
  });
});

describe('a redirect URI of a client of development', () => {
  test.each([
    'http://10.0.0.1/cb',
    'http://10.255.1.2:8080/cb',
    'http://172.16.0.9/cb',
    'http://172.31.255.254:3000/cb',
    'http://192.168.1.20/cb',
    'http://[fd00::1]/cb',
    'http://[fc12:3456::7]:8080/cb',
    'http://nas/cb',
    'http://my-app1:3000/cb?x=1',
    'http://app.local/cb',
    'http://printer.lan/cb',
    'http://cloud.home.arpa:8443/cb',
    'http://rp.test/cb',
    'http://a.b.internal/cb',
  ])('%s may be registered by it, and by no other client (delivery 3)', (uri) => {
    expect(isRedirectUri(uri, 'web', true, true, true)).toBe(true);
    expect(isDevelopmentUri(uri)).toBe(true);
    expect(isRedirectUri(uri, 'web', true, true)).toBe(false);
    expect(isRedirectUri(uri, 'native', true, true)).toBe(false);
  });

  test.each([
    'http://rp.example.com/cb',
    'http://local/../cb',
    'http://*.local/cb',
    'http://*/cb',
    'http://nas/*',
    'http://app.local./cb',
    'http://app.localx/cb',
    'http://applocal.evil.example/cb',
    'http://home.arpa.evil.example/cb',
    'http://8.8.8.8/cb',
    'http://11.0.0.1/cb',
    'http://172.15.0.1/cb',
    'http://172.32.0.1/cb',
    'http://192.169.0.1/cb',
    'http://169.254.169.254/cb',
    'http://100.64.0.1/cb',
    'http://10.0.0.1.evil.example/cb',
    'http://10.1/cb',
    'http://0x0a000001/cb',
    'http://167772161/cb',
    'http://[2001:db8::1]/cb',
    'http://[fe80::1]/cb',
    'http://[::ffff:10.0.0.1]/cb',
    'http://user@nas/cb',
    'http://nas/cb#x',
    'http://nas:80/cb',
    'http://nas;x/cb',
    'ftp://nas/cb',
  ])('%s may not be registered even by it (delivery 3)', (uri) => {
    expect(isRedirectUri(uri, 'web', true, true, true)).toBe(false);
  });

  test('is refused with advice (delivery 3)', () => {
    const { code } = redirectRefusal('redirect_uris', 'http://rp.example.com/cb', 'web', true, true);
    expect(code).toBe('address.development');
  });
});

describe('a requested redirect URI', () => {
  const registered = [
    'https://rp.example.com/cb',
    'https://rp.example.com/cb?tenant=1',
    'http://127.0.0.1/cb',
    'http://127.0.0.1:9000/fixed',
    'http://[::1]/cb?a=1',
    'http://localhost:8080/cb',
    'com.example.app:/cb',
  ];

  test.each(registered)('%s matches as it was registered (security R23)', (requested) => {
    expect(matchesRedirectUri(registered, requested, 'native')).toBe(true);
    expect(matchesRedirectUri(registered, requested, 'web')).toBe(true);
  });

  test.each([
    'http://127.0.0.1:51004/cb',
    'http://127.0.0.1:65535/cb',
    'http://127.0.0.1/fixed',
    'http://127.0.0.1:1/fixed',
    'http://[::1]:8/cb?a=1',
    'http://localhost/cb',
    'http://localhost:51004/cb',
  ])('%s matches for native clients only (RFC 8252 7.3, decisions section 3)', (requested) => {
    expect(matchesRedirectUri(registered, requested, 'native')).toBe(true);
    expect(matchesRedirectUri(registered, requested, 'web')).toBe(false);
  });

  test.each([
    '',
    'https://rp.example.com',
    'https://rp.example.com/cb/',
    'https://rp.example.com/CB',
    'https://rp.example.com/cb?',
    'https://rp.example.com/cb?tenant=2',
    'https://rp.example.com/cb?tenant=1&x=1',
    'https://rp.example.com/cb#',
    'https://rp.example.com:443/cb',
    'https://rp.example.com:51004/cb',
    'https://rp.example.com.evil.example/cb',
    'https://evil.example/https://rp.example.com/cb',
    'http://rp.example.com/cb',
    'http://localhost:51004/cb/',
    'http://localhost:51004/cb?x',
    'http://localhost:51004/fixed',
    'http://LOCALHOST:51004/cb',
    'http://localhost.:51004/cb',
    'http://localhost.evil.example/cb',
    'http://localhost:51004.evil.example/cb',
    'http://localhost:51004@evil.example/cb',
    'http://localhost:/cb',
    'http://localhost:65536/cb',
    'https://localhost:51004/cb',
    'http://127.0.0.1:8080/cb2',
    'http://127.0.0.1.evil.example/cb',
    'http://127.0.0.1evil.example/cb',
    'http://127.0.0.1:51004.evil.example/cb',
    'http://127.0.0.1:51004@evil.example/cb',
    'http://127.0.0.1:@evil.example/cb',
    'http://127.0.0.1:/cb',
    'http://127.0.0.1:65536/cb',
    'http://127.0.0.1:123456/cb',
    'http://127.0.0.1:-1/cb',
    'http://127.0.0.2/cb',
    'http://127.1/cb',
    'http://0x7f000001/cb',
    'http://[::ffff:127.0.0.1]/cb',
    'http://[::1]/cb',
    'http://[0:0:0:0:0:0:0:1]/cb?a=1',
    'http://127.0.0.1:51004/cb2',
    'http://127.0.0.1:51004/cb?x=1',
    'http://127.0.0.1:51004/cb#x',
    'http://127.0.0.1:51004',
    'https://127.0.0.1:51004/cb',
    'HTTP://127.0.0.1:51004/cb',
    ' http://127.0.0.1/cb',
    'com.example.app:/CB',
    'com.example.app:/cb?x',
  ])('%j does not match (security R23, A42)', (requested) => {
    expect(matchesRedirectUri(registered, requested, 'native')).toBe(false);
    expect(matchesRedirectUri(registered, requested, 'web')).toBe(false);
  });

  test('must have the registered port of localhost without LOOPBACK_LOCALHOST, and not that of a loopback address (security R23)', () => {
    for (const [uri, expected] of [
      ['http://localhost:8080/cb', true],
      ['http://localhost:51004/cb', false],
      ['http://127.0.0.1:51004/cb', true],
    ] as const)
      expect(matchesRedirectUri(registered, uri, 'native', false)).toBe(expected);
  });

  test('matches nothing if no URI is registered (security R23)', () => {
    for (const uri of ['', 'http://127.0.0.1/cb', 'https://rp.example.com/cb'])
      expect(matchesRedirectUri([], uri, 'native')).toBe(false);
  });
});

test.each<[string, [string, string][], string]>([
  ['https://rp.example.com/cb', [['code', 'a b']], 'https://rp.example.com/cb?code=a+b'],
  ['https://rp.example.com/cb?x=1', [['code', 'c']], 'https://rp.example.com/cb?x=1&code=c'],
  ['https://rp.example.com/cb?', [['code', 'c']], 'https://rp.example.com/cb?code=c'],
  ['https://rp.example.com/cb?x&', [['code', 'c']], 'https://rp.example.com/cb?x&code=c'],
  ['https://rp.example.com', [['state', '&=#?+%']], 'https://rp.example.com?state=%26%3D%23%3F%2B%25'],
  ['com.example.app:/cb', [['state', '\r\n']], 'com.example.app:/cb?state=%0D%0A'],
  ['https://rp.example.com/cb', [], 'https://rp.example.com/cb'],
])('%s with %j is %s (RFC 6749 3.1.2)', (uri, parameters, expected) => {
  expect(withQuery(uri, parameters)).toBe(expected);
});
