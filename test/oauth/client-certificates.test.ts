// The header of a proxy is read as exactly one certificate or not at all, and names in certificates are compared part by part: tables of cases.
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certificateOf, hasOwnCertificate, readClientCertificate } from '../../src/oauth/client-certificate.ts';
import { certificateInHeader } from '../../src/oauth/client-certificate-header.ts';
import { isNamed } from '../../src/oauth/certificate-names.ts';
import { hasSubject, parseDistinguishedName } from '../../src/oauth/distinguished-name.ts';
import { clientCert, createCertificateFolder, escapedPem, type TestCertificate } from '../helpers/mtls.ts';

const folder = createCertificateFolder();
let app: TestCertificate;
let other: TestCertificate;
const names = [
  'DNS:App.example',
  'URI:https://app.example/id',
  'IP:2001:db8::1',
  'IP:192.0.2.1',
  'email:Desk@App.example',
  'otherName:1.2.3.4;UTF8:app',
  'RID:1.2.3.4',
];
beforeAll(() => {
  const authority = folder.newAuthority();
  app = authority.sign({ alternatives: names });
  other = authority.sign({ subject: '/CN=other' });
});
afterAll(folder.remove);

describe('the header', () => {
  test('holds one certificate in the form of the setting (RFC 9440 2.2)', () => {
    expect(certificateInHeader(clientCert(app), 'rfc9440')).toEqual(app.der);
    expect(certificateInHeader(escapedPem(app), 'pem')).toEqual(app.der);
    // Traefik writes neither the lines of the frame nor line breaks
    expect(certificateInHeader(encodeURIComponent(app.der.toString('base64')), 'pem')).toEqual(app.der);
    expect(certificateInHeader(`Hash=1;Cert="${escapedPem(app)}";Subject="CN=a\\",b"`, 'xfcc')).toEqual(app.der);
    for (const format of ['rfc9440', 'pem', 'xfcc'] as const) expect(certificateInHeader(' ', format)).toBe('none');
  });

  test('of Envoy counts with its last element only, which the proxy itself wrote (protocols P22)', () => {
    const [first, last] = [`Cert="${escapedPem(app)}"`, `By=spiffe://x;Cert="${escapedPem(other)}"`];
    expect(certificateInHeader(`${first},${last}`, 'xfcc')).toEqual(other.der);
    expect(certificateInHeader(`${first},By=spiffe://x;Hash=1`, 'xfcc')).toBe('none');
    // a quote of a client does not swallow the element of the proxy
    expect(certificateInHeader(`Subject="\\",${first}`, 'xfcc')).toBe('malformed');
  });

  test('that holds anything else is malformed (RFC 9440 2.2, protocols P22)', () => {
    const good = clientCert(app);
    for (const value of [
      `${good}, ${good}`,
      app.der.toString('base64'),
      `${good};a=1`,
      good.slice(1),
      ': :',
      '::',
      good.replace(/=*:$/, '*:'),
      // the same byte as QQ==
      ':QR==:',
      ':QQ:',
    ])
      expect(certificateInHeader(value, 'rfc9440'), value.slice(-10)).toBe('malformed');
    expect(certificateInHeader(':QQ==:', 'rfc9440')).toEqual(Buffer.from('A'));
    expect(certificateInHeader(escapedPem(app), 'rfc9440')).toBe('malformed');
    for (const value of [`${escapedPem(app)}${escapedPem(other)}`, `${escapedPem(app)}%0Ax`, '%zz', clientCert(app)])
      expect(certificateInHeader(value, 'pem'), value.slice(-10)).toBe('malformed');
    const quoted = `Cert="${escapedPem(app)}"`;
    const escaped = `Cert="\\"${escapedPem(app)}\\""`;
    for (const value of [`${quoted};${quoted}`, `Cert=${escapedPem(app)}`, `${quoted.slice(0, -1)}`, escaped])
      expect(certificateInHeader(value, 'xfcc'), value.slice(-10)).toBe('malformed');
  });

  test('with bytes after the certificate holds none (protocols P22)', () => {
    expect(readClientCertificate(app.der)?.x5t).toBe(app.x5t);
    for (const bytes of [
      Buffer.concat([app.der, Buffer.of(0)]),
      Buffer.concat([app.der, other.der]),
      Buffer.from(app.certificate),
      Buffer.of(),
    ])
      expect(readClientCertificate(bytes)).toBeUndefined();
  });
});

describe('the subject', () => {
  /** The subject of a real certificate. */
  const subjectOf = (subject: string, stringMask: 'utf8only' | 'default' = 'utf8only') =>
    new X509Certificate(folder.newAuthority().sign({ subject, stringMask }).certificate).subject;

  test('is equal attribute by attribute, the last of the certificate first (RFC 4514 2.1, protocols P24)', () => {
    const subject = subjectOf('/C=DE/O=Example, Ltd/CN=app');
    for (const equal of [
      'CN=app,O=Example\\, Ltd,C=DE',
      'cn=app, o=Example\\2c Ltd , c=DE',
      '2.5.4.3=app,commonName=app,C=DE'.replace('commonName=app', '2.5.4.10=Example\\, Ltd'),
      'CN=#0c03617070,O=Example\\, Ltd,C=DE',
    ])
      expect(hasSubject(subject, equal), equal).toBe(true);
    for (const different of [
      'C=DE,O=Example\\, Ltd,CN=app',
      'CN=app,O=Example,C=DE',
      'CN=app,O=Example\\, Ltd',
      'CN=App,O=Example\\, Ltd,C=DE',
      'O=Example\\, Ltd,C=DE',
      'CN=app,CN=app,O=Example\\, Ltd,C=DE',
      'CN=app+O=Example\\, Ltd,C=DE',
      'CN=app,O=Example, Ltd,C=DE',
      '',
    ])
      expect(hasSubject(subject, different), different).toBe(false);
  });

  test('is compared as text of any type of string (RFC 5280 7.1, protocols P24)', () => {
    const [utf8, printable] = [subjectOf('/O=Bank/CN=app'), subjectOf('/O=Bank/CN=app', 'default')];
    for (const subject of [utf8, printable]) expect(hasSubject(subject, 'CN=app,O=Bank')).toBe(true);
    const subject = subjectOf('/O=Bänk/CN=app');
    expect(hasSubject(subject, 'CN=app,O=Bänk')).toBe(true);
    expect(hasSubject(subject, 'CN=app,O=B\\C3\\A4nk')).toBe(true);
  });

  test('takes no separator inside of a value for another attribute (RFC 4514 2.4, protocols P24)', () => {
    // one CN that looks like two attributes, two CNs, and one relative name of two attributes
    const smuggled = subjectOf('/CN=app,O=Bank');
    expect(hasSubject(smuggled, 'CN=app,O=Bank')).toBe(false);
    expect(hasSubject(smuggled, 'CN=app\\,O\\=Bank')).toBe(true);
    expect(hasSubject(subjectOf('/O=Bank\\/CN=app'), 'CN=app,O=Bank')).toBe(false);
    expect(hasSubject(subjectOf('/O=Bank/CN=evil/CN=app'), 'CN=app,O=Bank')).toBe(false);
    expect(hasSubject('O=Bank\\0ACN=app', 'CN=app,O=Bank')).toBe(false);
    expect(hasSubject('CN=app + OU=x', 'OU=x+CN=app')).toBe(true);
    expect(hasSubject('CN=app + OU=x', 'CN=app,OU=x')).toBe(false);
    expect(hasSubject('CN=app + serialNumber=1', 'CN=app')).toBe(false);
  });

  test('must be a distinguished name to be registered (RFC 4514 3)', () => {
    for (const text of [
      '',
      'app',
      'CN=',
      'CN=a,',
      'CN=a\\',
      'CN=a"b',
      'CN=a;b',
      'CN=#zz',
      'CN=#0c05617070',
      'CN=\\ff',
      'CN=\\xa',
      // digits that are none after a good value, another type than a string, and a length of several bytes
      'CN=#0c0161zz',
      'CN=#040161',
      `CN=#0c81${'61'.repeat(129)}`,
      '=a',
    ])
      expect(parseDistinguishedName(text), text).toBeUndefined();
    for (const text of ['CN=a', 'CN=a\\+b+OU=c,DC=example', '1.2.3=a', 'CN=a\\ '])
      expect(parseDistinguishedName(text), text).toBeDefined();
  });
});

describe('an alternative name', () => {
  test('is equal in the form of its type, and never as a name of another type (RFC 8705 2.1.2)', () => {
    const certificate = certificateOf(new X509Certificate(app.certificate));
    for (const [member, equal, different] of [
      ['tls_client_auth_san_dns', 'app.EXAMPLE', 'example'],
      ['tls_client_auth_san_uri', 'https://app.example/id', 'https://app.example/ID'],
      ['tls_client_auth_san_ip', '2001:DB8:0::1', '2001:db8::2'],
      ['tls_client_auth_san_ip', '192.0.2.1', '192.0.2.10'],
      ['tls_client_auth_san_email', 'Desk@app.example', 'desk@app.example'],
    ] as const) {
      expect(isNamed(certificate, { [member]: equal }), equal).toBe(true);
      expect(isNamed(certificate, { [member]: different }), different).toBe(false);
    }
    for (const value of ['192.0.2.1', '1.2.3.4', 'app'])
      expect(isNamed(certificate, { tls_client_auth_san_dns: value }), value).toBe(false);
    expect(isNamed(certificate, {})).toBe(false);
    expect(isNamed(certificate, { tls_client_auth_san_dns: 'app.example', tls_client_auth_subject_dn: 'CN=app' })).toBe(
      false,
    );
  });

  /** A certificate whose alternative names are a text that no program here writes. */
  const withNames = (text: string) =>
    certificateOf(Object.defineProperty(new X509Certificate(app.certificate), 'subjectAltName', { value: text }));

  test('in a text that cannot be read names nothing (RFC 8705 2.1.2)', () => {
    for (const text of ['DNS:app.example, "', 'DNS:app.example, DNS', 'DNS:app.example; DNS:b.example"'])
      expect(withNames(text).alternativeNames(), text).toEqual([]);
  });

  test('with separators in its value is one name (CVE-2021-44532)', () => {
    const certificate = withNames('URI:"https://a.example/?x=1\\u002c DNS:app.example", DNS:b.example');
    expect(certificate.alternativeNames()).toEqual([
      { type: 'uri', value: 'https://a.example/?x=1, DNS:app.example' },
      { type: 'dns', value: 'b.example' },
    ]);
  });
});

test('a key with x5c has the first certificate of it (RFC 7517 4.7)', () => {
  const x5c = (certificate: TestCertificate) => [certificate.der.toString('base64')];
  expect(hasOwnCertificate({ ...app.jwk, x5c: x5c(app) })).toBe(true);
  expect(hasOwnCertificate(app.jwk)).toBe(true);
  for (const chain of [x5c(other), [], 'x', ['eA==']])
    expect(hasOwnCertificate({ ...app.jwk, x5c: chain })).toBe(false);
});
