// Walks through Debian's mod_auth_mellon, and lets xmlsec1 verify our signatures: SAML programs of other authors. `npm run walks -- saml` runs it.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { answerOf, idpMetadata, newKeyPair, SamlApplication } from '../helpers/saml-application.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

const xmlsec = '/usr/bin/xmlsec1';
const bare = (pem: string) => pem.replace(/-----[A-Z ]+-----|\s+/g, '');
const keys = newKeyPair();
const work = mkdtempSync(join(tmpdir(), 'mellon-'));
let service: TestService;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  user = await service.createUser({ email: 'ada@corp.example', emailVerified: true });
});
afterAll(async () => {
  await service?.stop();
  rmSync(work, { recursive: true, force: true });
});

describe('mod_auth_mellon', () => {
  let apache: ChildProcess;
  let base: string;
  beforeAll(async () => {
    const port = await freePort();
    base = `http://127.0.0.1:${port}`;
    const descriptor = (use: string) =>
      `<KeyDescriptor use="${use}"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${bare(keys.certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>`;
    const binding = 'urn:oasis:names:tc:SAML:2.0:bindings:';
    const metadata = `<EntityDescriptor entityID="${base}/mellon/metadata" xmlns="urn:oasis:names:tc:SAML:2.0:metadata"><SPSSODescriptor AuthnRequestsSigned="true" WantAssertionsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${descriptor('signing')}${descriptor('encryption')}<SingleLogoutService Binding="${binding}HTTP-Redirect" Location="${base}/mellon/logout"/><NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:persistent</NameIDFormat><AssertionConsumerService index="0" isDefault="true" Binding="${binding}HTTP-POST" Location="${base}/mellon/postResponse"/></SPSSODescriptor></EntityDescriptor>`;
    mkdirSync(join(work, 'htdocs/private'), { recursive: true });
    writeFileSync(
      join(work, 'htdocs/private/index.shtml'),
      'name=<!--#echo var="REMOTE_USER" --> mail=<!--#echo var="MELLON_mail" -->',
    );
    writeFileSync(join(work, 'htdocs/index.html'), 'open');
    writeFileSync(join(work, 'sp.key'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(join(work, 'sp.pem'), keys.certificate);
    writeFileSync(join(work, 'sp.xml'), metadata);
    writeFileSync(join(work, 'idp.xml'), (await idpMetadata(service)).xml);
    const root = process.getuid?.() === 0;
    writeFileSync(join(work, 'variant.conf'), root ? 'User nobody\nGroup nogroup\n' : '');
    chmodSync(work, 0o777);
    const { status, body } = await call(`${service.issuer}/admin/api/clients`, {
      token: await adminToken(service),
      body: {
        kind: 'saml',
        client_name: 'Mellon',
        saml_metadata: metadata,
        claim_rules: [{ claim: 'mail', from: 'email', into: ['saml'] }],
      },
    });
    expect({ status, body }).toMatchObject({ status: 201, body: { require_signed_requests: true } });
    const args = ['-D', 'FOREGROUND', '-f', join(import.meta.dirname, 'mellon/httpd.conf')];
    apache = spawn('/usr/sbin/apache2', args, {
      env: { ...process.env, WORK: work, PORT: String(port) },
      stdio: 'inherit',
    });
    const isUp = () =>
      fetch(base).then(
        ({ ok }) => ok,
        () => false,
      );
    await vi.waitUntil(isUp, { timeout: 60_000, interval: 50 });
  });
  afterAll(() => apache?.kill());

  test('a user signs in and out by mod_auth_mellon, whose requests are signed (SAML Profiles 4.1, 4.4)', async () => {
    const agent = new UserAgent(service);
    const there = new UserAgent({ issuer: base });
    const sent = await there.follow(await there.get('/private/'));
    expect(sent.location, readFileSync(join(work, 'error.log'), 'utf8')).toMatch(`${service.issuer}/saml/sso?`);
    const page = await agent.signIn(user, await agent.follow(await agent.get(sent.location!)));
    const opened = await deliver(there, page);
    expect(opened.body).toContain('mail=ada@corp.example');
    expect(opened.body).toMatch(/name=[\w-]{20,}/);
    const leaving = await there.get(`/mellon/logout?ReturnTo=${encodeURIComponent(`${base}/`)}`);
    expect(leaving.location).toMatch(`${service.issuer}/saml/logout?`);
    const answered = await agent.get(leaving.location!);
    expect(answered.location).toMatch(`${base}/mellon/logout?`);
    expect((await there.get(answered.location!)).location).toBe(`${base}/`);
    expect((await agent.follow(await agent.get('/account'))).body).toContain('id="password"');
    expect((await there.follow(await there.get('/private/'))).location).toMatch(`${service.issuer}/saml/sso?`);
  });

  /** Posts an answer to Apache, and opens the page to which it leads. */
  async function deliver(there: UserAgent, page: Page): Promise<Page> {
    const { action, xml, relayState } = answerOf(page)!;
    const form = {
      SAMLResponse: Buffer.from(xml).toString('base64'),
      ...(relayState !== undefined && { RelayState: relayState }),
    };
    const taken = await there.post(action, form, { origin: service.issuer, 'sec-fetch-site': 'cross-site' });
    expect(taken.location, readFileSync(join(work, 'error.log'), 'utf8')).toMatch(base);
    return there.get(taken.location!);
  }
});

describe('xmlsec1', () => {
  test('xmlsec1 verifies the signatures of an assertion and of a response, and none that was altered (SAML Core 5.4)', async () => {
    const sp = await SamlApplication.create(service, { sign_response: true }, keys);
    const { xml } = await sp.signIn(new UserAgent(service), user);
    const { certificates } = await idpMetadata(service);
    writeFileSync(
      join(work, 'idp.pem'),
      `-----BEGIN CERTIFICATE-----\n${certificates[0]!.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
    );
    const verify = (text: string, element: string, namespace: string) => {
      writeFileSync(join(work, 'message.xml'), text);
      const node = `//*[local-name()='${element}']/*[local-name()='Signature']`;
      const ids = ['--id-attr:ID', `urn:oasis:names:tc:SAML:2.0:${namespace}:${element}`];
      const key = ['--pubkey-cert-pem', join(work, 'idp.pem'), '--enabled-key-data', 'rsa'];
      execFileSync(xmlsec, ['--verify', ...key, ...ids, '--node-xpath', node, join(work, 'message.xml')], {
        stdio: 'pipe',
      });
    };
    verify(xml, 'Response', 'protocol');
    verify(xml, 'Assertion', 'assertion');
    expect(() => verify(xml.replace(/persistent"/, 'transient"'), 'Assertion', 'assertion')).toThrow();
  });
});
