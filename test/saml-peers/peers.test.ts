// Walks through SAML programs of other authors, as both sides: pysaml2 and simplesamlphp; and checks our messages by the schemas of SAML with xmllint.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inflated } from '../helpers/saml-provider.ts';
import { signInPage, leave } from '../helpers/connections.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import {
  answerOf,
  idpMetadata,
  newKeyPair,
  queryOf,
  SamlApplication,
  statusesOf,
} from '../helpers/saml-application.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';
import { type SimpleSaml, startSimpleSaml } from './simplesamlphp.ts';

const keys = newKeyPair();
const work = mkdtempSync(join(tmpdir(), 'saml-peers-'));
const peerBase = 'http://127.0.0.1:9';
let service: TestService;
let user: TestUser;
let token: string;
let port: number;
beforeAll(async () => {
  port = await freePort();
  const allowed = `127.0.0.1:9,127.0.0.1:${port}`;
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: allowed } });
  user = await service.createUser({
    email: 'ada@corp.example',
    emailVerified: true,
    groups: ['staff'],
    claims: { name: 'Ada <L> & "é"' },
  });
  token = await adminToken(service);
  writeFileSync(join(work, 'peer.key'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(work, 'peer.pem'), keys.certificate);
  writeFileSync(join(work, 'gatehouse-idp.xml'), (await idpMetadata(service)).xml);
});
afterAll(async () => {
  await service?.stop();
  rmSync(work, { recursive: true, force: true });
});

const create = async (path: string, body: Record<string, unknown>) => {
  const made = await call(`${service.issuer}/admin/api/${path}`, { token, body });
  expect([made.status, made.body['error_description']]).toEqual([201, undefined]);
  return made.body;
};
const rules = [
  { claim: 'mail', from: 'email', into: ['saml'] },
  { claim: 'urn:oid:2.16.840.1.113730.3.1.241', from: 'name', into: ['saml'] },
  { claim: 'groups', from: 'groups', into: ['saml'] },
];
const base64 = (xml: string) => Buffer.from(xml).toString('base64');
const linked = async (subject: string) =>
  service.database.sql<{ claims: Record<string, unknown> }>(
    'SELECT u.claims FROM users u JOIN linked_identities l USING (sub) WHERE l.subject = $1',
    [subject],
  );

describe('pysaml2', () => {
  /** The service is in this process, and must not stand still meanwhile. */
  async function pysaml2<T>(command: string, input: Record<string, unknown> = {}): Promise<T> {
    const running = promisify(execFile)('python3', [join(import.meta.dirname, 'pysaml2_side.py'), command], {
      env: { ...process.env, PYTHONPATH: process.env['PYSAML2'] },
    });
    running.child.stdin!.end(JSON.stringify({ base: peerBase, work, ...input }));
    // the script beside this file writes it
    return JSON.parse((await running).stdout) as T;
  }

  test('as a service provider signs a user in by a signed request, reads the assertion, encrypted as well, and signs the user out (SAML Profiles 4.1, 4.4)', async () => {
    const { xml } = await pysaml2<{ xml: string }>('sp-metadata');
    const { client_id: id } = await create('clients', {
      kind: 'saml',
      client_name: 'pysaml2',
      saml_metadata: xml,
      claim_rules: rules,
    });
    const peer = { metadata: join(work, 'gatehouse-idp.xml'), peer: `${service.issuer}/saml/metadata` };
    const agent = new UserAgent(service);
    for (const members of [{}, { sign_response: true, encryption_certificate: keys.certificate }]) {
      const patched = await call(`${service.issuer}/admin/api/clients/${String(id)}`, {
        method: 'PATCH',
        token,
        body: members,
      });
      expect(patched.status).toBe(200);
      const asked = await pysaml2<{ id: string; location: string }>('authenticate', peer);
      let page = await agent.follow(await agent.get(asked.location, { 'sec-fetch-site': 'cross-site' }));
      if (page.body.includes('id="password"')) page = await agent.signIn(user, page);
      const answer = answerOf(page)!;
      expect(answer).toMatchObject({ action: `${peerBase}/acs`, relayState: 'state' });
      const wanted = { want_response_signed: 'sign_response' in members };
      const read = await pysaml2<{ name: string; attributes: Record<string, string[]>; index: string }>(
        'read-response',
        {
          ...peer,
          ...wanted,
          id: asked.id,
          response: base64(answer.xml),
        },
      );
      expect(read.attributes).toEqual({
        mail: ['ada@corp.example'],
        displayName: ['Ada <L> & "é"'],
        groups: ['staff'],
      });
      // another request did not ask for it
      const other = pysaml2('read-response', { ...peer, id: 'id-other', response: base64(answer.xml) });
      await expect(other).rejects.toThrow('Unsolicited response');
      if (!('sign_response' in members)) continue;
      const leaving = await pysaml2<{ id: string; location: string }>('logout', {
        ...peer,
        ...read,
        destination: `${service.issuer}/saml/logout`,
      });
      const left = await agent.get(leaving.location, { 'sec-fetch-site': 'cross-site' });
      const response = new URL(left.location!).searchParams.get('SAMLResponse')!;
      expect(left.location).toMatch(`${peerBase}/slo?`);
      expect(await pysaml2('read-logout-response', { ...peer, response })).toEqual({
        answered: leaving.id,
        good: true,
      });
      expect((await agent.follow(await agent.get('/account'))).body).toContain('id="password"');
    }
  });

  test.each([false, true])(
    'as an identity provider verifies our request, and its answer signs a user in (the response signed: %s) (SAML Profiles 4.1)',
    async (signsResponse) => {
      const id = signsResponse ? 'pysaml2-both' : 'pysaml2';
      const { xml: metadata } = await pysaml2<{ xml: string }>('idp-metadata');
      await create('connections', {
        id,
        kind: 'saml',
        display_name: id,
        status: 'enabled',
        provisioning: 'on',
        settings: { metadata },
      });
      const ours = await (await fetch(`${service.issuer}/connections/${id}/saml/metadata`)).text();
      writeFileSync(join(work, `${id}.xml`), ours);
      const agent = new UserAgent(service);
      const left = await leave(agent, await signInPage(agent, id), id);
      const query = new URL(left.location!).searchParams;
      const name = `${id}-ann`;
      const answer = await pysaml2<{ xml: string; destination: string }>('answer', {
        metadata: join(work, `${id}.xml`),
        request: query.get('SAMLRequest'),
        state: query.get('RelayState'),
        sigalg: query.get('SigAlg'),
        signature: query.get('Signature'),
        sign_response: signsResponse,
        name,
      });
      expect(answer.destination).toBe(`${service.issuer}/connections/${id}/saml/acs`);
      const page = await postFromElsewhere(agent, answer.destination, {
        SAMLResponse: base64(answer.xml),
        RelayState: query.get('RelayState')!,
      });
      expect(page.url).toBe(`${service.issuer}/account`);
      expect(await linked(name)).toMatchObject([{ claims: { given_name: 'Ann' } }]);
    },
  );
});

/** Posts from a page of another site, which brings no cookie, and follows with the browser's cookies. */
async function postFromElsewhere(agent: UserAgent, address: string, fields: Record<string, string>) {
  const posted = await new UserAgent(service).post(address, fields, { origin: 'null', 'sec-fetch-site': 'cross-site' });
  return agent.follow(await agent.get(posted.location!));
}

describe('simplesamlphp', () => {
  let peer: SimpleSaml;
  beforeAll(async () => {
    peer = await startSimpleSaml(join(work, 'ssp'), keys, `${service.issuer}/saml/metadata`, port);
    peer.trust((await idpMetadata(service)).xml);
  });
  afterAll(() => peer?.stop());

  test('as a service provider signs a user in and out (SAML Profiles 4.1, 4.4)', async () => {
    const metadata = await (await fetch(`${peer.base}/module.php/saml/sp/metadata.php/gatehouse`)).text();
    await create('clients', {
      kind: 'saml',
      client_name: 'simplesamlphp',
      saml_metadata: metadata,
      claim_rules: rules,
    });
    const [agent, there] = [new UserAgent(service), new UserAgent({ issuer: peer.base })];
    const sent = await there.follow(await there.get('/module.php/core/authenticate.php?as=gatehouse'));
    expect(sent.location, sent.body.slice(0, 3000)).toMatch(`${service.issuer}/saml/sso?`);
    const page = await agent.signIn(user, await agent.follow(await agent.get(sent.location!)));
    const answer = answerOf(page)!;
    const taken = await there.follow(
      await there.post(
        answer.action,
        { SAMLResponse: base64(answer.xml), RelayState: answer.relayState! },
        { 'sec-fetch-site': 'cross-site' },
      ),
    );
    expect(taken.body).toContain('ada@corp.example');
    expect(taken.body).toContain('Ada &lt;L&gt; &amp; &quot;é&quot;');
    const leaving = await there.follow(await there.get('/module.php/core/authenticate.php?as=gatehouse&logout'));
    expect(leaving.location).toMatch(`${service.issuer}/saml/logout?`);
    const back = await agent.get(leaving.location!, { 'sec-fetch-site': 'cross-site' });
    expect(back.location).toMatch(peer.base);
    const done = await there.follow(await there.get(back.location!));
    expect(done.status).toBe(200);
    expect((await agent.follow(await agent.get('/account'))).body).toContain('id="password"');
    expect((await there.follow(await there.get('/module.php/core/authenticate.php?as=gatehouse'))).location).toMatch(
      '/saml/sso?',
    );
  });

  test('as an identity provider signs a user in by our signed request, and out (SAML Profiles 4.1, 4.4)', async () => {
    const metadata = await (await fetch(`${peer.base}/saml2/idp/metadata.php?output=xml`)).text();
    await create('connections', {
      id: 'ssp',
      kind: 'saml',
      display_name: 'SSP',
      status: 'enabled',
      provisioning: 'on',
      logout: 'propagate',
      settings: { metadata },
    });
    peer.trust(await (await fetch(`${service.issuer}/connections/ssp/saml/metadata`)).text());
    const [agent, there] = [new UserAgent(service), new UserAgent({ issuer: peer.base })];
    const left = await leave(agent, await signInPage(agent, 'ssp'), 'ssp');
    const form = await there.follow(await there.get(left.location!));
    expect(form.body).toContain('name="password"');
    const posted = await there.submit(form, { username: 'ann', password: 'of-a-test' });
    const fields = hiddenFields(posted.body);
    const page = await postFromElsewhere(agent, `${service.issuer}/connections/ssp/saml/acs`, {
      SAMLResponse: fields['SAMLResponse']!,
      RelayState: fields['RelayState']!,
    });
    expect(page.url).toBe(`${service.issuer}/account`);
    expect(await linked('ssp-ann')).toMatchObject([{ claims: { given_name: 'Ann' } }]);
    const out = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
    expect(out.location).toMatch(peer.base);
    const answered = await there.follow(await there.get(out.location!));
    expect(answered.location, answered.body.slice(0, 2000)).toMatch(`${service.issuer}/connections/ssp/saml/logout?`);
    expect((await agent.get(answered.location!)).status).toBe(200);
    const anew = await leave(agent, await signInPage(agent, 'ssp'), 'ssp');
    expect((await there.follow(await there.get(anew.location!))).body).toContain('name="password"');
  });
});

describe('xmllint', () => {
  const valid = (xml: string, schema: 'protocol' | 'metadata') => {
    writeFileSync(join(work, 'message.xml'), xml);
    execFileSync(
      'xmllint',
      [
        '--nonet',
        '--noout',
        '--schema',
        `/usr/share/simplesamlphp/schemas/saml-schema-${schema}-2.0.xsd`,
        join(work, 'message.xml'),
      ],
      {
        stdio: 'pipe',
      },
    );
  };

  test('finds our responses, requests and metadata valid by the schemas of SAML (SAML Core 1.4, SAML Metadata 1.1)', async () => {
    const agent = new UserAgent(service);
    const make = (members: Record<string, unknown>) => SamlApplication.create(service, members, keys);
    const plain = await make({ claim_rules: rules, session_lifetime: 3600, sign_response: true });
    const answer = await plain.signIn(agent, user);
    valid(answer.xml, 'protocol');
    expect(() => valid(answer.xml.replace('<saml:Subject>', '<saml:Subject/><saml:Subject>'), 'protocol')).toThrow();
    valid((await (await make({ encryption_certificate: keys.certificate })).signIn(agent, user)).xml, 'protocol');
    valid((await (await make({ name_id: 'email' })).signIn(agent, user)).xml, 'protocol');
    const refused = answerOf(await plain.begin(new UserAgent(service), { attributes: 'IsPassive="true"' }))!;
    expect(statusesOf(refused)).toEqual(['Responder', 'NoPassive']);
    valid(refused.xml, 'protocol');
    const out = await agent.get(
      `/saml/logout?${queryOf(plain.logoutRequest({ nameId: 'x' }), { key: keys.privateKey })}`,
    );
    valid(inflated(new URL(out.location!).searchParams.get('SAMLResponse')!), 'protocol');
    const browser = new UserAgent(service);
    const left = await leave(browser, await signInPage(browser, 'pysaml2'), 'pysaml2');
    valid(inflated(new URL(left.location!).searchParams.get('SAMLRequest')!), 'protocol');
    valid((await idpMetadata(service)).xml, 'metadata');
    valid(await (await fetch(`${service.issuer}/connections/pysaml2/saml/metadata`)).text(), 'metadata');
  });
});
