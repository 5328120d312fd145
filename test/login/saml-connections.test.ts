// Tests sign-in by a connection of the kind saml, from the button to the session, and every answer that must not sign in.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCertificate } from '../../src/saml/certificates.ts';
import { readMetadata } from '../../src/saml/metadata.ts';
import { encryptedAssertion } from '../../src/saml/reader/encryption.ts';
import { readQuery } from '../../src/saml/redirect-binding.ts';
import { changeConnection } from '../helpers/connections.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { time } from '../helpers/saml-messages.ts';
import {
  addSamlConnection,
  beginSaml,
  type Lie,
  postAnswer,
  type SamlProvider,
  signInBySaml,
  startSamlProvider,
} from '../helpers/saml-provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: SamlProvider;
let token: string;

beforeAll(async () => {
  provider = await startSamlProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  token = await adminToken(service);
  await addSamlConnection(service, provider, 'saml', { provisioning: 'on' });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

const api = (path: string) => `${service.issuer}/admin/api/connections${path}`;
let number = 0;
const someone = () => `ann-${++number}`;
const userOf = async (subject: string) => {
  const [user] = await service.database.sql<{
    sub: string;
    username: string;
    email: string | null;
    groups: string[];
    claims: Record<string, unknown>;
  }>('SELECT u.* FROM users u JOIN linked_identities l USING (sub) WHERE l.subject = $1', [subject]);
  return user;
};
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;

/** An answer that must not sign in: a page below 500, no session, no user. */
async function refusedBy(
  lie: Lie,
  id = 'saml',
  change: (fields: Record<string, string>) => Record<string, string> = (same) => same,
) {
  const agent = new UserAgent(service);
  const subject = lie.assertion?.nameId ?? someone();
  const request = await beginSaml(agent, id);
  const SAMLResponse = await provider.answer(request, { ...lie, assertion: { nameId: subject, ...lie.assertion } });
  const page = await postAnswer(agent, id, change({ SAMLResponse, RelayState: request.relayState }));
  expect(page.status).toBeGreaterThanOrEqual(400);
  expect(page.status).toBeLessThan(500);
  expect(await isSignedIn(agent)).toBe(false);
  expect(await userOf(subject)).toBeUndefined();
  return page;
}

describe('a sign-in by SAML', () => {
  test('begins with a signed request, and ends with a session, a link, and the claims of the attributes (federation 9)', async () => {
    const agent = new UserAgent(service);
    const nameId = someone();
    const request = await beginSaml(agent, 'saml');
    expect(request.consumer).toBe(`${service.issuer}/connections/saml/saml/acs`);
    expect(request.xml).toContain('ProtocolBinding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"');
    expect(request.xml).not.toContain('ForceAuthn');
    expect(Buffer.byteLength(request.relayState)).toBeLessThanOrEqual(80);
    const published = await fetch(`${service.issuer}/connections/saml/saml/metadata`);
    expect(published.headers.get('content-type')).toBe('application/samlmetadata+xml; charset=utf-8');
    const { entityId, serviceProvider } = readMetadata(await published.text());
    expect(entityId).toBe(request.audience);
    expect(
      readQuery(
        request.query,
        serviceProvider!.certificates.map(({ publicKey }) => publicKey),
      ).signed,
    ).toBe(true);
    const SAMLResponse = await provider.answer(request, {
      assertion: {
        nameId,
        attributes: { givenName: 'Ann', 'urn:oid:2.5.4.4': 'Bö & Co', mail: 'ann@else.example', groups: ['a', 'b'] },
      },
    });
    const page = await postAnswer(agent, 'saml', { SAMLResponse, RelayState: request.relayState });
    expect(page.url).toBe(`${service.issuer}/account`);
    const user = await userOf(nameId);
    expect(user).toMatchObject({ username: nameId, email: null, claims: { given_name: 'Ann' } });
    const [link] = await service.database.sql('SELECT issuer, subject FROM linked_identities WHERE sub = $1', [
      user!.sub,
    ]);
    expect(link).toEqual({ issuer: provider.entityId, subject: nameId });
  });

  test.each(['response', 'both', 'encrypted'])('is verified by a signature on the %s (federation 9)', async (where) => {
    const agent = new UserAgent(service);
    const nameId = someone();
    const metadata = readMetadata(await (await fetch(`${service.issuer}/connections/saml/saml/metadata`)).text());
    const { pem, publicKey } = metadata.serviceProvider!.encryptionCertificates[0]!;
    const lies: Record<string, Lie> = {
      response: { key: null, outer: provider.pinned },
      both: { outer: provider.pinned },
      encrypted: { inside: (xml) => encryptedAssertion(xml, pem, publicKey) },
    };
    const page = await signInBySaml(agent, provider, 'saml', { ...lies[where], assertion: { nameId } });
    expect(page.url).toBe(`${service.issuer}/account`);
    expect(await userOf(nameId)).toMatchObject({ username: nameId });
  });

  test('gives groups by rules; an attribute without values removes them, and none leaves them (federation FR15)', async () => {
    await service.database.sql(`INSERT INTO groups (name) VALUES ('team') ON CONFLICT DO NOTHING`);
    await addSamlConnection(service, provider, 'grouped', {
      provisioning: 'on',
      settings: { groups_attribute: 'memberOf' },
      group_rules: [{ equals: 'Team', group: 'team' }],
    });
    const nameId = someone();
    const come = (attributes: Record<string, string[]>, edit = (xml: string) => xml) =>
      signInBySaml(new UserAgent(service), provider, 'grouped', { assertion: { nameId, attributes, edit } });
    await come({ memberOf: ['Team', 'Other'] });
    expect((await userOf(nameId))!.groups).toEqual(['team']);
    await come({ groups: [] });
    expect((await userOf(nameId))!.groups).toEqual(['team']);
    await come({ memberOf: [] });
    expect((await userOf(nameId))!.groups).toEqual([]);
    // an attribute that stands twice has the values of both
    const twice = (xml: string) => xml.replace(/ Name="(first|second)"/g, ' Name="memberOf"');
    await come({ first: ['Team'], second: ['Other'] }, twice);
    expect((await userOf(nameId))!.groups).toEqual(['team']);
    await come({ memberOf: [] });
    await come({ first: ['Other'], second: ['Team'] }, twice);
    expect((await userOf(nameId))!.groups).toEqual(['team']);
  });

  test('gives no group for an empty value (federation FR15)', async () => {
    await addSamlConnection(service, provider, 'prefixed', {
      provisioning: 'on',
      settings: { groups_attribute: 'memberOf' },
      group_rules: [{ all: true, prefix: 'corp-' }],
    });
    const nameId = someone();
    for (const [memberOf, groups] of [
      [['team', ''], ['corp-team']],
      [[''], []],
    ] as const) {
      const assertion = { nameId, attributes: { memberOf: [...memberOf] } };
      await signInBySaml(new UserAgent(service), provider, 'prefixed', { assertion });
      expect((await userOf(nameId))!.groups).toEqual(groups);
    }
  });

  test('takes a claim from the attribute of this name before one of this friendly name (federation 4)', async () => {
    await addSamlConnection(service, provider, 'friendly', {
      provisioning: 'on',
      claim_rules: [{ to: 'nickname', from: 'short' }],
    });
    const nameId = someone();
    const come = (attributes: Record<string, string>) => {
      const edit = (xml: string) => xml.replace(' Name="other"', '$& FriendlyName="short"');
      return signInBySaml(new UserAgent(service), provider, 'friendly', { assertion: { nameId, attributes, edit } });
    };
    const nickname = async () => (await userOf(nameId))!.claims['nickname'];
    await come({ other: 'by friendly name' });
    expect(await nickname()).toBe('by friendly name');
    for (const attributes of [
      { short: 'by name', other: 'not this' },
      { other: 'not this', short: 'by name' },
    ]) {
      await come({ other: 'by friendly name' });
      await come(attributes);
      expect(await nickname()).toBe('by name');
    }
  });

  test('vouches for an address by authority alone (federation 4)', async () => {
    await addSamlConnection(service, provider, 'owning', {
      provisioning: 'on',
      authoritative_domains: ['corp.example'],
    });
    const [own, foreign] = [someone(), someone()];
    await signInBySaml(new UserAgent(service), provider, 'owning', {
      assertion: { nameId: own, attributes: { mail: `${own}@corp.example` } },
    });
    await signInBySaml(new UserAgent(service), provider, 'owning', {
      assertion: { nameId: foreign, attributes: { mail: `${foreign}@else.example` } },
    });
    expect((await userOf(own))!.email).toBe(`${own}@corp.example`);
    expect((await userOf(foreign))!.email).toBeNull();
  });

  test('lasts no longer than the session there, if the answer says when that ends (SAML Core 2.7.2, federation 9)', async () => {
    await addSamlConnection(service, provider, 'lasting', { provisioning: 'on', session_lifetime: 1800 });
    const seconds = async (id: string, ends?: number) => {
      const nameId = someone();
      const said = ends === undefined ? '' : ` SessionNotOnOrAfter="${time(new Date(), ends)}"`;
      const edit = (xml: string) => xml.replace('<saml:AuthnStatement', `$&${said}`);
      await signInBySaml(new UserAgent(service), provider, id, { assertion: { nameId, edit } });
      const [session] = await service.database.sql<{ seconds: number }>(
        `SELECT date_part('epoch', expires_at - created_at) AS seconds FROM sessions WHERE sub = $1`,
        [(await userOf(nameId))!.sub],
      );
      return Math.round(session!.seconds);
    };
    expect(await seconds('saml', 900)).toBeLessThanOrEqual(900);
    expect(await seconds('lasting', 900)).toBeLessThanOrEqual(900);
    expect(await seconds('lasting', 86_400)).toBe(1800);
    expect(await seconds('lasting')).toBe(1800);
    // the clocks may differ by a minute: the session is not over before it begins
    expect(await seconds('saml', -30)).toBe(60);
    const usual = await seconds('saml');
    expect(usual).toBeGreaterThan(3600);
    expect(await seconds('saml', 250_000_000)).toBe(usual);
  });

  test('asks for a new sign-in with prompt=login, and has the level and the time of the assertion (federation 4, FR10)', async () => {
    const client = await service.createClient({ scope: 'openid' }, { firstParty: true });
    const agent = new UserAgent(service);
    const request = await beginSaml(agent, 'saml', authorizationUrl(service.issuer, client, { prompt: 'login' }));
    expect(request.xml).toContain('ForceAuthn="true"');
    const SAMLResponse = await provider.answer(request, { assertion: { nameId: someone() } });
    const page = await postAnswer(agent, 'saml', { SAMLResponse, RelayState: request.relayState });
    expect(page.location ?? page.url).toMatch(/^https:\/\/rp\.example\.com\/callback\?.*code=/);
  });

  test('has a sign-in that is as fresh as the assertion states, and one from the future is not fresh (federation FR10)', async () => {
    const nameId = someone();
    await signInBySaml(new UserAgent(service), provider, 'saml', { assertion: { nameId } });
    const isFresh = async (seconds: number) => {
      const edit = (xml: string) =>
        xml.replace(/ AuthnInstant="[^"]*"/, ` AuthnInstant="${time(new Date(), seconds)}"`);
      const agent = new UserAgent(service);
      await signInBySaml(agent, provider, 'saml', { assertion: { nameId, edit } });
      // an operation that needs a sign-in of the last 15 minutes
      const page = await agent.get('/account/data');
      expect(page.status).toBe(200);
      return (await agent.post('/account/data', hiddenFields(page.body))).status === 200;
    };
    const found = [];
    for (const seconds of [-60, 30, -16 * 60, 120, 86_400]) found.push(await isFresh(seconds));
    expect(found).toEqual([true, true, false, false, false]);
  });

  test('names the user by an attribute where the NameID is transient, and asks for a user name then (federation 9)', async () => {
    await addSamlConnection(service, provider, 'transient', {
      provisioning: 'on',
      settings: { subject_attribute: 'uid' },
    });
    const transient = { nameIdAttributes: ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"' };
    const uid = someone();
    const page = await signInBySaml(new UserAgent(service), provider, 'transient', {
      assertion: { ...transient, nameId: '_random', attributes: { uid } },
    });
    expect(page.url).toBe(`${service.issuer}/login/name`);
    await refusedBy({ assertion: { ...transient } });
    await refusedBy({ assertion: { ...transient, attributes: { uid: [someone(), someone()] } } }, 'transient');
    // two attributes may have the same friendly name
    const friendly = (xml: string) => xml.replace(/ Name="(a|b)"/g, '$& FriendlyName="uid"');
    await refusedBy(
      { assertion: { ...transient, attributes: { a: someone(), b: someone() }, edit: friendly } },
      'transient',
    );
    // and one attribute may stand twice
    const twice = (xml: string) => xml.replace(/ Name="(a|b)"/g, ' Name="uid"');
    await refusedBy(
      { assertion: { ...transient, attributes: { a: someone(), b: someone() }, edit: twice } },
      'transient',
    );
    await refusedBy({ assertion: { ...transient } }, 'transient');
    // nor is a structure a value, or a value that no subject can be
    const structure = '<other xmlns="urn:other">ann</other>';
    for (const value of [structure, 'n'.repeat(256)])
      await refusedBy({ assertion: { ...transient, attributes: { uid: value } } }, 'transient');
  });

  test('of a transient NameID has no claim name_id, not even from an attribute of this name (federation 9)', async () => {
    await addSamlConnection(service, provider, 'unnamed', {
      provisioning: 'on',
      username_from: 'uid',
      claim_rules: [{ to: 'nickname', from: 'name_id' }],
      settings: { subject_attribute: 'uid' },
    });
    const uid = someone();
    await signInBySaml(new UserAgent(service), provider, 'unnamed', {
      assertion: {
        nameIdAttributes: ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"',
        nameId: '_random',
        attributes: { uid, name_id: 'of-an-attribute' },
      },
    });
    const user = await userOf(uid);
    expect([user!.username, user!.claims['nickname']]).toEqual([uid, undefined]);
  });

  test('is taken only with a NameID of the format that the connection names (federation FR25)', async () => {
    await addSamlConnection(service, provider, 'by-email', {
      provisioning: 'on',
      settings: { name_id_format: 'email' },
    });
    await refusedBy({}, 'by-email');
  });

  test('of a response without sign-in tells the user, and not what the other side says (federation 4)', async () => {
    const agent = new UserAgent(service);
    const request = await beginSaml(agent, 'saml');
    const xml = Buffer.from(
      await provider.answer(request, {
        key: null,
        inside: () => '',
        response: {
          status:
            '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"/></samlp:StatusCode><samlp:StatusMessage>evil text</samlp:StatusMessage>',
        },
      }),
      'base64',
    );
    const page = await postAnswer(agent, 'saml', {
      SAMLResponse: xml.toString('base64'),
      RelayState: request.relayState,
    });
    expect(page.status).toBe(400);
    expect(page.body).not.toContain('evil text');
    expect(page.body).toContain('finish signing in');
  });

  test('of a response without sign-in to another request is no word about this one (federation FR25)', async () => {
    const agent = new UserAgent(service);
    const request = await beginSaml(agent, 'saml');
    const SAMLResponse = await provider.answer(request, {
      key: null,
      inside: () => '',
      response: {
        inResponseTo: '_other',
        status:
          '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"/></samlp:StatusCode>',
      },
    });
    const page = await postAnswer(agent, 'saml', { SAMLResponse, RelayState: request.relayState });
    expect(page.status).toBe(400);
    expect(page.body).not.toContain('finish signing in');
  });

  test('remembers an assertion until the later of its ends, so that it never comes again (federation FR26)', async () => {
    await addSamlConnection(service, provider, 'timed', { provisioning: 'on' });
    await signInBySaml(new UserAgent(service), provider, 'timed', {
      assertion: {
        nameId: someone(),
        edit: (xml) =>
          xml.replace(/(<saml:SubjectConfirmationData [^>]*NotOnOrAfter=")[^"]*/, `$1${time(new Date(), 20)}`),
      },
    });
    const [kept] = await service.database.sql<{ seconds: number }>(
      "SELECT extract(epoch FROM max(expires_at) - now())::int AS seconds FROM used_logout_tokens WHERE connection_id = 'timed'",
    );
    // the conditions end in 300 seconds, and clocks differ by up to 120
    expect(kept!.seconds).toBeGreaterThan(400);
  });
});

describe('an answer that is for another service, request or time is refused:', () => {
  const other = 'https://evil.example/other';
  const now = new Date();
  test.each<[string, Lie]>([
    ['another Destination', { response: { destination: other } }],
    ['no Destination', { response: { edit: (xml) => xml.replace(/ Destination="[^"]*"/, '') } }],
    ['another Recipient', { assertion: { recipient: other } }],
    ['another Audience', { assertion: { audience: other } }],
    [
      'no audience',
      { assertion: { edit: (xml) => xml.replace(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/, '') } },
    ],
    [
      'a second AudienceRestriction for another service',
      {
        assertion: {
          edit: (xml) =>
            xml.replace(
              '<saml:AudienceRestriction>',
              `<saml:AudienceRestriction><saml:Audience>${other}</saml:Audience></saml:AudienceRestriction>$&`,
            ),
        },
      },
    ],
    ['no AuthnInstant', { assertion: { edit: (xml) => xml.replace(/ AuthnInstant="[^"]*"/, '') } }],
    ['an attribute without a name', { assertion: { attributes: { '': 'x' } } }],
    ['a name of 256 characters', { assertion: { nameId: 'n'.repeat(256) } }],
    ['another issuer of the response', { response: { issuer: other } }],
    [
      'no issuer of the response',
      { response: { edit: (xml) => xml.replace(/<saml:Issuer xmlns.*?<\/saml:Issuer>/, '') } },
    ],
    ['another issuer of the assertion', { assertion: { issuer: other } }],
    ['no InResponseTo of the response', { response: { inResponseTo: undefined } }],
    ['no InResponseTo of the confirmation', { assertion: { inResponseTo: undefined } }],
    ['another InResponseTo of the response', { response: { inResponseTo: '_other' } }],
    ['another InResponseTo of the confirmation', { assertion: { inResponseTo: '_other' } }],
    [
      'a Status that is not Success',
      { response: { status: '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"/>' } },
    ],
    [
      'no AuthnStatement',
      { assertion: { edit: (xml) => xml.replace(/<saml:AuthnStatement.*<\/saml:AuthnStatement>/, '') } },
    ],
    ['a method that is not bearer', { assertion: { edit: (xml) => xml.replace('cm:bearer', 'cm:holder-of-key') } }],
    [
      'no SubjectConfirmationData',
      { assertion: { edit: (xml) => xml.replace(/<saml:SubjectConfirmationData[^>]*>/, '') } },
    ],
    ['another version', { assertion: { edit: (xml) => xml.replace('Version="2.0"', 'Version="1.1"') } }],
    ['another version of the response', { response: { edit: (xml) => xml.replace('Version="2.0"', 'Version="1.1"') } }],
    [
      'an issuer of another format',
      {
        assertion: {
          edit: (xml) =>
            xml.replace('<saml:Issuer>', '<saml:Issuer Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">'),
        },
      },
    ],
    ['no Subject', { assertion: { edit: (xml) => xml.replace(/<saml:Subject>.*<\/saml:Subject>/, '') } }],
    [
      'two confirmations by bearer',
      { assertion: { edit: (xml) => xml.replace(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/, '$&$&') } },
    ],
    [
      'NotBefore of the confirmation in five minutes',
      {
        assertion: {
          edit: (xml) =>
            xml.replace('<saml:SubjectConfirmationData', `<saml:SubjectConfirmationData NotBefore="${time(now, 300)}"`),
        },
      },
    ],
    [
      'a time of another form',
      { assertion: { edit: (xml) => xml.replace(/AuthnInstant="[^"]*/, `AuthnInstant="${now.toUTCString()}`) } },
    ],
    [
      'an unknown condition',
      {
        assertion: {
          edit: (xml) => xml.replace('<saml:AudienceRestriction>', '<saml:Condition/><saml:AudienceRestriction>'),
        },
      },
    ],
    ['a name for another service', { assertion: { nameIdAttributes: ` SPNameQualifier="${other}"` } }],
    ['a name of another provider', { assertion: { nameIdAttributes: ` NameQualifier="${other}"` } }],
    [
      'NotOnOrAfter of the conditions past',
      {
        assertion: { edit: (xml) => xml.replace(/(<saml:Conditions [^>]*NotOnOrAfter=")[^"]*/, `$1${time(now, -61)}`) },
      },
    ],
    [
      'NotOnOrAfter of the confirmation past',
      {
        assertion: {
          edit: (xml) => xml.replace(/(<saml:SubjectConfirmationData [^>]*NotOnOrAfter=")[^"]*/, `$1${time(now, -61)}`),
        },
      },
    ],
    [
      'no NotOnOrAfter of the confirmation',
      { assertion: { edit: (xml) => xml.replace(/(<saml:SubjectConfirmationData [^>]*) NotOnOrAfter="[^"]*"/, '$1') } },
    ],
    [
      'NotBefore in five minutes',
      { assertion: { edit: (xml) => xml.replace(/NotBefore="[^"]*/, `NotBefore="${time(now, 300)}`) } },
    ],
    ['no conditions', { assertion: { edit: (xml) => xml.replace(/<saml:Conditions.*<\/saml:Conditions>/, '') } }],
    [
      'SessionNotOnOrAfter past',
      {
        assertion: {
          edit: (xml) =>
            xml.replace('<saml:AuthnStatement ', `<saml:AuthnStatement SessionNotOnOrAfter="${time(now, -120)}" `),
        },
      },
    ],
    ['a time that is none', { assertion: { edit: (xml) => xml.replace(/NotBefore="[^"]*/, 'NotBefore="yesterday') } }],
    [
      'AuthnInstant that is none',
      { assertion: { edit: (xml) => xml.replace(/AuthnInstant="[^"]*/, 'AuthnInstant="2026-99-99T99:99:99Z') } },
    ],
  ])('with %s (federation FR25, F40, F41)', async (_what, lie) => {
    await refusedBy(lie);
    // the same with a signature over all, which stands after the issuer
    if (lie.response?.edit === undefined) await refusedBy({ ...lie, key: null, outer: provider.pinned });
  });

  test('without an ID of the assertion, which names it when it comes again (federation FR26)', async () => {
    await refusedBy({
      assertion: { edit: (xml) => xml.replace(/ ID="[^"]*"/, '') },
      key: null,
      outer: provider.pinned,
    });
  });

  test('with 59 seconds of difference between the clocks it is not (federation F41)', async () => {
    const skewed = (xml: string) =>
      xml
        .replace(/NotBefore="[^"]*/, `NotBefore="${time(new Date(), 57)}`)
        .replaceAll(/NotOnOrAfter="[^"]*/g, `NotOnOrAfter="${time(new Date(), -55)}`);
    const agent = new UserAgent(service);
    const page = await signInBySaml(agent, provider, 'saml', { assertion: { nameId: someone(), edit: skewed } });
    expect(page.url).toBe(`${service.issuer}/account`);
  });

  test('of another browser, and used before (federation F40, FR26)', async () => {
    const [agent, other] = [new UserAgent(service), new UserAgent(service)];
    const nameId = someone();
    const request = await beginSaml(agent, 'saml');
    const SAMLResponse = await provider.answer(request, { assertion: { nameId } });
    const fields = { SAMLResponse, RelayState: request.relayState };
    await beginSaml(other, 'saml');
    expect((await postAnswer(other, 'saml', fields)).status).toBe(400);
    expect(await isSignedIn(other)).toBe(false);
    expect((await postAnswer(agent, 'saml', fields)).url).toBe(`${service.issuer}/account`);
    expect((await postAnswer(agent, 'saml', fields)).status).toBe(400);
    // the state of a new request does not make the old answer new
    const again = await beginSaml(agent, 'saml');
    expect((await postAnswer(agent, 'saml', { SAMLResponse, RelayState: again.relayState })).status).toBe(400);
    // nor does an assertion with the id of one that was used
    const used = /ID="(_[a-z0-9]+)"[^>]*><saml:Issuer>/.exec(Buffer.from(SAMLResponse, 'base64').toString())![1]!;
    const third = await beginSaml(new UserAgent(service), 'saml');
    expect(third.id).not.toBe(request.id);
    await refusedBy({ assertion: { id: used } });
  });

  test('at the address of another connection (federation FR3)', async () => {
    await addSamlConnection(service, provider, 'second', { provisioning: 'on' });
    const agent = new UserAgent(service);
    const request = await beginSaml(agent, 'saml');
    const SAMLResponse = await provider.answer(request, { assertion: { nameId: someone() } });
    const page = await postAnswer(agent, 'second', { SAMLResponse, RelayState: request.relayState });
    expect(page.status).toBe(400);
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('after the connection was disabled (federation FR5)', async () => {
    await addSamlConnection(service, provider, 'closing', { provisioning: 'on' });
    const agent = new UserAgent(service);
    const request = await beginSaml(agent, 'closing');
    await changeConnection(service, 'closing', { status: 'disabled' });
    const SAMLResponse = await provider.answer(request, { assertion: { nameId: someone() } });
    expect((await postAnswer(agent, 'closing', { SAMLResponse, RelayState: request.relayState })).status).toBe(400);
  });
});

describe('signatures', () => {
  test.each<[string, () => Lie]>([
    ['no signature', () => ({ key: null })],
    ['a signature by a key that is not pinned, and stands in KeyInfo', () => ({ key: provider.other })],
    ['a response signed by another key', () => ({ outer: provider.other })],
    ['a foreign assertion in a signed response', () => ({ key: provider.other, outer: provider.pinned })],
  ])('%s is refused (federation F35)', async (_what, lie) => {
    await refusedBy(lie());
  });

  test('an encrypted assertion that is not signed inside is refused (federation F43)', async () => {
    const metadata = readMetadata(await (await fetch(`${service.issuer}/connections/saml/saml/metadata`)).text());
    const { pem, publicKey } = metadata.serviceProvider!.encryptionCertificates[0]!;
    const inside = (xml: string) => encryptedAssertion(xml, pem, publicKey);
    await refusedBy({ key: null, inside });
    await refusedBy({ key: null, inside, outer: provider.pinned });
    await refusedBy({ key: provider.other, inside, outer: provider.pinned });
  });
});

describe('the state of the relay', () => {
  test.each([
    'https://evil.example',
    'javascript:alert(1)',
    'x'.repeat(9000),
    'a\r\nSet-Cookie: x=y',
    '//evil.example',
  ])('%.30s is never an address (federation FR29, F49)', async (RelayState) => {
    const agent = new UserAgent(service);
    const request = await beginSaml(agent, 'saml');
    const SAMLResponse = await provider.answer(request, { assertion: { nameId: someone() } });
    const posted = await new UserAgent(service).post(
      '/connections/saml/saml/acs',
      { SAMLResponse, RelayState },
      { origin: 'null' },
    );
    expect(posted.location).toBe(`${service.issuer}/connections/saml/continue`);
    expect((await agent.get(posted.location!)).status).toBe(400);
    expect(await isSignedIn(agent)).toBe(false);
  });
});

describe('a sign-in that begins at the identity provider', () => {
  const unsolicited = async (id: string, nameId: string, lie: Lie = {}, RelayState = 'https://evil.example') => {
    const addresses = {
      consumer: `${service.issuer}/connections/${id}/saml/acs`,
      audience: `${service.issuer}/connections/${id}/saml/metadata`,
    };
    const none = { inResponseTo: undefined };
    const answer = { assertion: { nameId, ...none, ...lie.assertion }, response: { ...none, ...lie.response } };
    const SAMLResponse = await provider.answer(addresses, { ...lie, ...answer });
    const agent = new UserAgent(service);
    return { agent, SAMLResponse, page: await postAnswer(agent, id, { SAMLResponse, RelayState }) };
  };

  test('is refused unless the connection accepts it (federation 9)', async () => {
    const { agent, page } = await unsolicited('saml', someone());
    expect(page.status).toBe(400);
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('ends on a page of this service, once, whatever the state says (federation 9, F49, FR26)', async () => {
    await addSamlConnection(service, provider, 'portal', { provisioning: 'on', settings: { idp_initiated: true } });
    const { page, SAMLResponse } = await unsolicited('portal', someone());
    expect(page.url).toBe(`${service.issuer}/account`);
    const again = new UserAgent(service);
    expect((await postAnswer(again, 'portal', { SAMLResponse })).status).toBe(400);
    expect(await isSignedIn(again)).toBe(false);
    // an answer to a request of some browser is none without that request
    const answered = await unsolicited('portal', someone(), {
      response: { inResponseTo: '_r' },
      assertion: { inResponseTo: '_r' },
    });
    expect(answered.page.status).toBe(400);
    // each button still leads to an answer of its own
    const page2 = await signInBySaml(new UserAgent(service), provider, 'portal', { assertion: { nameId: someone() } });
    expect(page2.url).toBe(`${service.issuer}/account`);
  });
});

describe('weight', () => {
  test.each<[string, (xml: string) => string]>([
    ['20,000 elements', (xml) => xml.replace('<samlp:Status>', `${'<x/>'.repeat(20_000)}<samlp:Status>`)],
    [
      'a depth of 10,000',
      (xml) => xml.replace('<samlp:Status>', `${'<x>'.repeat(10_000)}${'</x>'.repeat(10_000)}<samlp:Status>`),
    ],
    ['20 MB', (xml) => xml.replace('<samlp:Status>', `${' '.repeat(20_000_000)}<samlp:Status>`)],
    ['a DOCTYPE', (xml) => `<!DOCTYPE x SYSTEM "http://169.254.169.254/">${xml}`],
  ])('an answer with %s is refused where it arrives, and is not kept (federation F37, F38)', async (what, edit) => {
    const request = await beginSaml(new UserAgent(service), 'saml');
    const xml = Buffer.from(await provider.answer(request), 'base64').toString();
    const body = new URLSearchParams({
      SAMLResponse: Buffer.from(edit(xml)).toString('base64'),
      RelayState: request.relayState,
    });
    const before = await service.database.sql(`SELECT FROM connection_steps WHERE step = 'answer'`);
    const start = performance.now();
    const answer = await fetch(`${service.issuer}/connections/saml/saml/acs`, {
      method: 'POST',
      body,
      redirect: 'manual',
    });
    await answer.arrayBuffer();
    process.stdout.write(`${what} at the ACS: ${answer.status} in ${(performance.now() - start).toFixed(0)} ms\n`);
    expect([400, 413]).toContain(answer.status);
    expect(await service.database.sql(`SELECT FROM connection_steps WHERE step = 'answer'`)).toHaveLength(
      before.length,
    );
  });
});

describe('metadata', () => {
  const create = (id: string, settings: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    call(api(''), { token, body: { id, kind: 'saml', display_name: id, status: 'enabled', settings, ...more } });
  const settingsIn = ({ body }: Awaited<ReturnType<typeof call>>) => body['settings'] as Record<string, unknown>;

  test('by its text or its address fills in what is pinned (federation 9)', async () => {
    const byText = await create('by-text', { metadata: provider.metadata() });
    expect(byText.status).toBe(201);
    expect(settingsIn(byText)).toMatchObject({
      entity_id: provider.entityId,
      sso_uri: `${provider.base}/sso`,
      certificates: [provider.pinned.certificate],
    });
    expect(settingsIn(byText)).not.toHaveProperty('metadata');
    const byAddress = await create('by-address', { metadata_uri: provider.metadataUri });
    expect(settingsIn(byAddress)).toMatchObject({ entity_id: provider.entityId, slo_uri: `${provider.base}/slo` });
    expect(byAddress.body).not.toHaveProperty('published');
  });

  test.each<[string, () => Record<string, unknown>, string]>([
    ['nothing', () => ({}), 'entity_id'],
    ['no certificate', () => ({ entity_id: 'x', sso_uri: `${provider.base}/sso` }), 'certificates'],
    ['a key without a use', () => ({ metadata: provider.metadata({ use: '' }) }), 'no key for signing'],
    ['no key', () => ({ metadata: provider.metadata({ keys: [] }) }), 'no key for signing'],
    [
      'two entities',
      () => ({ metadata: `<a>${provider.metadata()}${provider.metadata()}</a>` }),
      'metadata of one SAML',
    ],
    [
      'a script as the address in metadata',
      () => ({ metadata: provider.metadata({ sso: 'javascript:alert(1)' }) }),
      'metadata of one SAML',
    ],
    ['an address by http', () => ({ metadata_uri: 'http://idp.example/metadata' }), 'settings.metadata_uri'],
    ['an inward address', () => ({ metadata_uri: 'https://169.254.169.254/metadata' }), 'settings.metadata_uri'],
    [
      'a sign-in address by http',
      () => ({ entity_id: 'x', sso_uri: 'http://idp.example/sso', certificates: [provider.pinned.certificate] }),
      'settings.sso_uri',
    ],
    [
      'a script as an address',
      () => ({ entity_id: 'x', sso_uri: 'javascript:alert(1)', certificates: [provider.pinned.certificate] }),
      'settings.sso_uri',
    ],
    [
      'a text that is no certificate',
      () => ({ entity_id: 'x', sso_uri: `${provider.base}/sso`, certificates: ['x'] }),
      'settings.certificates',
    ],
  ])('with %s is refused when it is saved (federation F35, F44)', async (_what, settings, member) => {
    const made = await create(`refused-${++number}`, settings());
    expect(made.status).toBe(400);
    expect(JSON.stringify(made.body)).toContain(member);
  });

  test('that changes waits for an administrator, and sign-ins go on with the pinned key (federation F44, FR14)', async () => {
    provider.publish(provider.metadata());
    await create('watched', { metadata_uri: provider.metadataUri }, { provisioning: 'on' });
    provider.publish(provider.metadata({ keys: [provider.other] }));
    await call(api('/watched'), { token, method: 'PATCH', body: { read_metadata: true } });
    const shown = await call(api('/watched'), { token });
    expect((shown.body['settings'] as Record<string, unknown>)['certificates']).toEqual([provider.pinned.certificate]);
    const published = shown.body['published'] as { digest: string; certificates: string[] };
    expect(published.certificates).toEqual([provider.other.certificate]);
    await refusedBy({ key: provider.other }, 'watched');
    expect(
      (await signInBySaml(new UserAgent(service), provider, 'watched', { assertion: { nameId: someone() } })).url,
    ).toBe(`${service.issuer}/account`);
    expect(await eventsOf(service, { type: 'connection.metadata_changed' })).toHaveLength(1);
    // another administrator saw other values
    const wrong = await call(api('/watched'), { token, method: 'PATCH', body: { accept_metadata: 'other' } });
    expect(wrong.status).toBe(409);
    const accepted = await call(api('/watched'), {
      token,
      method: 'PATCH',
      body: { accept_metadata: published.digest },
    });
    expect(settingsIn(accepted)['certificates']).toEqual([provider.other.certificate]);
    expect(accepted.body).not.toHaveProperty('published');
    await refusedBy({}, 'watched');
    provider.publish(provider.metadata());
  });

  test('keeps the subject: what identifies users cannot change once users are linked (security R165)', async () => {
    await addSamlConnection(service, provider, 'fixed', { provisioning: 'on' });
    await signInBySaml(new UserAgent(service), provider, 'fixed', { assertion: { nameId: someone() } });
    const changed = await call(api('/fixed'), {
      token,
      method: 'PATCH',
      body: { settings: { subject_attribute: 'uid' } },
    });
    expect(changed.status).toBe(409);
  });
});

describe('a key of your own', () => {
  test('signs requests, and its certificate is published; the private key is never shown (federation 9, F31)', async () => {
    const own = provider.other;
    const secret = own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const settings = {
      entity_id: provider.entityId,
      sso_uri: `${provider.base}/sso`,
      certificates: [provider.pinned.certificate],
      own_certificate: own.certificate,
    };
    const body = { id: 'own-key', kind: 'saml', display_name: 'Own', status: 'enabled', settings };
    expect((await call(api(''), { token, body })).status).toBe(400);
    const foreign = provider.pinned.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect((await call(api(''), { token, body: { ...body, secret: foreign } })).status).toBe(400);
    const made = await call(api(''), { token, body: { ...body, secret } });
    expect(made.status).toBe(201);
    expect(JSON.stringify(made.body)).not.toContain('PRIVATE');
    const { query } = await beginSaml(new UserAgent(service), 'own-key');
    expect(readQuery(query, [readCertificate(own.certificate)!.publicKey]).signed).toBe(true);
    expect((await fetch(`${service.issuer}/connections/own-key/jwks`)).status).toBe(404);
    expect((await fetch(`${service.issuer}/connections/saml/jwks`)).status).toBe(404);
  });
});
