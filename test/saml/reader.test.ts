// Tests the reader of SAML messages: what it admits, what it refuses, and that it returns the verified bytes alone.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { DOMParser } from '@xmldom/xmldom';
import { beforeAll, expect, test, vi } from 'vitest';
import { ExclusiveCanonicalization } from 'xml-crypto';
import { readCertificate } from '../../src/saml/certificates.ts';
import { exclusive, ns } from '../../src/saml/names.ts';
import { readMetadata } from '../../src/saml/metadata.ts';
import { admitted } from '../../src/saml/reader/bounds.ts';
import { parseXml, textOf, childOf } from '../../src/saml/reader/elements.ts';
import { encryptedAssertion } from '../../src/saml/reader/encryption.ts';
import { readResponse } from '../../src/saml/reader/response.ts';
import { readSigned } from '../../src/saml/reader/signed.ts';
import { addressWith, readQuery } from '../../src/saml/redirect-binding.ts';
import { SamlRefused, type SamlReason } from '../../src/saml/refused.ts';
import { signElement } from '../../src/saml/signing.ts';
import { element } from '../../src/saml/writer.ts';
import { assertion, response, signed, signedBy, type TestKey, testKey } from '../helpers/saml-messages.ts';

let [pinned, other, own]: TestKey[] = [];
const publicKeyOf = ({ certificate }: TestKey) => readCertificate(certificate)!.publicKey;
beforeAll(async () => {
  [pinned, other, own] = await Promise.all(['K', 'X', 'own'].map(testKey));
});
const K = () => pinned!;
const keys = () => [publicKeyOf(K())];
const read = (xml: string) => readResponse(Buffer.from(xml), keys(), [own!.privateKey]);

async function refusal(reading: () => unknown): Promise<SamlReason> {
  try {
    await reading();
  } catch (error) {
    if (error instanceof SamlRefused) return error.reason;
    throw error;
  }
  throw new Error('it was admitted');
}
const subjectIn = (from: Awaited<ReturnType<typeof read>>['assertion']) =>
  textOf(childOf(childOf(from, ns.assertion, 'Subject')!, ns.assertion, 'NameID')!);

const good = () => response(signed(assertion(), '_a1', K()));

test('a signature on the assertion, on the response, or on both is verified by a pinned key (federation FR21)', async () => {
  const byAssertion = await read(good());
  expect(subjectIn(byAssertion.assertion)).toBe('ann-1');
  // what no key vouches for has no assertion
  expect(byAssertion.response.children.map(({ name }) => name)).toEqual(['Issuer', 'Status']);
  expect(subjectIn((await read(signed(response(assertion()), '_r1', K()))).assertion)).toBe('ann-1');
  expect(subjectIn((await read(signed(good(), '_r1', K()))).assertion)).toBe('ann-1');
  // the second of two pinned keys
  const both = [publicKeyOf(other!), publicKeyOf(K())];
  expect(subjectIn((await readResponse(Buffer.from(good()), both)).assertion)).toBe('ann-1');
});

test('ECDSA and RSA-PSS are verified by their own keys (federation 9)', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const uri = 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256';
  const make = (material: string) =>
    sign('sha256', Buffer.from(material), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64');
  const xml = response(signedBy(assertion(), '_a1', uri, make));
  expect(subjectIn((await readResponse(xml, [publicKey])).assertion)).toBe('ann-1');
  expect(await refusal(() => readResponse(xml, keys()))).toBe('signature');
  // a key makes the signatures of its own kind only
  const byRsa = (material: string) => sign('sha256', Buffer.from(material), K().privateKey).toString('base64');
  expect(await refusal(() => read(response(signedBy(assertion(), '_a1', uri, byRsa))))).toBe('signature');
});

test.each<[string, () => string]>([
  ['no signature', () => response(assertion())],
  ['a signature by another key, which is in KeyInfo', () => response(signed(assertion(), '_a1', other!))],
  ['a changed name', () => good().replace('ann-1', 'bob-1')],
  [
    'a signed assertion inside of an unsigned one',
    () =>
      response(
        assertion({
          id: '_a2',
          edit: (xml) => xml.replace('</saml:Assertion>', `${signed(assertion(), '_a1', K())}</saml:Assertion>`),
        }),
      ),
  ],
  [
    'a second assertion before',
    () => response(assertion({ id: '_a2', nameId: 'root' }) + signed(assertion(), '_a1', K())),
  ],
  [
    'a second assertion after',
    () => response(signed(assertion(), '_a1', K()) + assertion({ id: '_a2', nameId: 'root' })),
  ],
  [
    'the signed assertion in Extensions',
    () =>
      response(
        `<samlp:Extensions>${signed(assertion(), '_a1', K())}</samlp:Extensions>${assertion({ id: '_a2', nameId: 'root' })}`,
      ),
  ],
  [
    'the signed assertion in an Object of the signature',
    () => {
      const [, signature] = /(<ds:Signature[\s\S]*<\/ds:Signature>)/.exec(good())!;
      const inner = signed(assertion(), '_a1', K());
      return response(
        assertion({ id: '_a2', nameId: 'root' }).replace(
          '</saml:Issuer>',
          `</saml:Issuer>${signature!.replace('</ds:Signature>', `<ds:Object>${inner}</ds:Object></ds:Signature>`)}`,
        ),
      );
    },
  ],
  [
    'the signature of another element moved here',
    () => {
      const [, signature] = /(<ds:Signature[\s\S]*<\/ds:Signature>)/.exec(good())!;
      return response(assertion({ id: '_a2', nameId: 'root' }).replace('</saml:Issuer>', `</saml:Issuer>${signature}`));
    },
  ],
  ['two ids that are the same', () => response(assertion({ nameId: 'root' }), { id: '_a1' })],
  ['a reference without an id', () => good().replace('URI="#_a1"', 'URI=""')],
  ['a second reference', () => good().replace('</ds:Reference>', '</ds:Reference><ds:Reference URI="#_r1"/>')],
  ['a second signature', () => good().replace(/(<ds:Signature[\s\S]*<\/ds:Signature>)/, '$1$1')],
  ['an Object', () => good().replace('</ds:Signature>', '<ds:Object/></ds:Signature>')],
  [
    'a signed assertion whose element is of another namespace',
    () => {
      const xml = assertion().replace('<saml:Assertion ', '<x:Assertion xmlns:x="urn:x" ');
      return response(signed(xml.replace('</saml:Assertion>', '</x:Assertion>'), '_a1', K()));
    },
  ],
  ['an assertion of another namespace', () => good().replaceAll('urn:oasis:names:tc:SAML:2.0:assertion', 'urn:x')],
])('a response with %s is refused (federation F35)', async (_what, make) => {
  const reason = await refusal(() => read(make()));
  expect(['signature', 'form']).toContain(reason);
});

test('without a pinned key nothing is admitted (federation FR22)', async () => {
  expect(await refusal(() => readResponse(good(), []))).toBe('signature');
});

test.each<[string, (xml: string) => string]>([
  ['a comment', (xml) => xml.replace('ann-1', 'ann<!-- -->-1')],
  ['a CDATA section', (xml) => xml.replace('ann-1', '<![CDATA[ann-1]]>')],
  ['a processing instruction', (xml) => xml.replace('ann-1', 'ann<?x y?>-1')],
  ['an entity', (xml) => xml.replace('ann-1', 'ann&x;-1')],
  ['a DOCTYPE', (xml) => `<!DOCTYPE x>${xml}`],
  [
    'an external entity',
    (xml) => `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${xml.replace('ann-1', '&e;')}`,
  ],
  ['two roots', (xml) => xml + xml.replaceAll('_a1', '_a2').replaceAll('_r1', '_r2')],
  ['text after the root', (xml) => `${xml}x`],
  ['an id in another attribute', (xml) => xml.replace('<saml:Subject>', '<saml:Subject id="_a1">')],
  ['an id of a namespace', (xml) => xml.replace('<saml:Subject>', '<saml:Subject xml:id="_x">')],
  ['a name without its namespace', (xml) => xml.replace('<saml:Subject>', '<x:y/><saml:Subject>')],
  ['a control character', (xml) => xml.replace('ann-1', 'ann\u0001')],
  ['a reference to no character', (xml) => xml.replace('ann-1', 'ann&#0;')],
  ['an attribute twice', (xml) => xml.replace('ID="_a1"', 'ID="_a1" ID="_a1"')],
  ['UTF-7', (xml) => `<?xml version="1.0" encoding="UTF-7"?>${xml}`],
  ['XML 1.1', (xml) => `<?xml version="1.1"?>${xml}`],
])('a message with %s is refused before a parser sees it (federation F36, F37)', async (_what, edit) => {
  const signedTwice = response(signed(assertion(), '_a1', K()));
  expect(await refusal(() => read(edit(signedTwice)))).toBe('form');
});

test('UTF-16 is refused, and a declaration of UTF-8 and a mark at the start are not (federation F37)', async () => {
  expect(await refusal(() => readResponse(Buffer.from(`\ufeff${good()}`, 'utf16le'), keys()))).toBe('form');
  expect(subjectIn((await read(`\ufeff<?xml version="1.0" encoding="UTF-8"?>\n${good()}\n`)).assertion)).toBe('ann-1');
});

test.each<[string, () => string]>([
  ['20,000 elements', () => good().replace('<samlp:Status>', `${'<x/>'.repeat(20_000)}<samlp:Status>`)],
  [
    'a depth of 10,000',
    () => good().replace('<samlp:Status>', `${'<x>'.repeat(10_000)}${'</x>'.repeat(10_000)}<samlp:Status>`),
  ],
  ['20 MB', () => good().replace('ann-1', 'a'.repeat(20_000_000))],
  [
    '10,000 attributes',
    () =>
      good().replace(
        '<samlp:Status>',
        `<x ${Array.from({ length: 10_000 }, (_, n) => `a${n}=""`).join(' ')}/><samlp:Status>`,
      ),
  ],
])('a message with %s is refused by its weight (federation FR24, F38)', async (what, make) => {
  const xml = make();
  const start = performance.now();
  expect(await refusal(() => read(xml))).toBe('weight');
  process.stdout.write(`${what}: ${(performance.now() - start).toFixed(1)} ms\n`);
});

const nested = (depth: number) => '<x>'.repeat(depth) + '</x>'.repeat(depth);
const attributesOf = (count: number) => Array.from({ length: count }, (_, n) => ` a${n}=""`).join('');
test.each<[string, string, string, SamlReason]>([
  ['33 levels', nested(32), nested(33), 'weight'],
  ['51 attributes of an element', `<x${attributesOf(50)}/>`, `<x${attributesOf(51)}/>`, 'weight'],
  [
    '4,050 attributes',
    `<x>${`<x${attributesOf(50)}/>`.repeat(80)}</x>`,
    `<x>${`<x${attributesOf(50)}/>`.repeat(81)}</x>`,
    'weight',
  ],
  ['an attribute twice', '<x a="" b=""/>', '<x a="" a=""/>', 'form'],
  ['a reserved prefix', '<x xmlns:a="b"/>', '<x xmlns:xml="b"/>', 'form'],
  ['an id of another form', '<x ID="_1"/>', `<x ID="_1']"/>`, 'form'],
  ['an id twice', '<x ID="_1"><y ID="_2"/></x>', '<x ID="_1"><y ID="_1"/></x>', 'form'],
  ['the end of a CDATA section', '<x>]]</x>', '<x>]]></x>', 'form'],
])(
  'a text with %s is refused before a parser sees it, and one with less is not (federation FR21, FR24)',
  async (_what, fine, wrong, reason) => {
    expect(admitted(fine)).toBe(fine);
    expect(await refusal(() => admitted(wrong))).toBe(reason);
  },
);

test('a comment in metadata neither cuts a value nor joins two (federation F36)', async () => {
  expect(parseXml('<x><!-- a --><y>b</y></x>', { comments: true }).root.children).toHaveLength(1);
  expect(await refusal(() => parseXml('<x>a<!-- -->b</x>', { comments: true }))).toBe('form');
});

const repeated = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, n) => make(n)).join('');
const before = (xml: string, more: string) => xml.replace('<saml:Subject>', `${more}<saml:Subject>`);

test(
  'a message that no pinned key signed costs no more than its parse, whatever fills it (federation FR24, F38)',
  // one expression that looks at blanks twice takes minutes for the first
  { timeout: 60_000 },
  async () => {
    const ten = Array.from({ length: 10 }, () => publicKeyOf(other!));
    const twice = signed(good(), '_r1', K());
    for (const [what, xml] of [
      ['250,000 blanks', before(good(), ' '.repeat(250_000))],
      ['250,000 blanks in a tag', before(good(), `<x${' '.repeat(250_000)}/>`)],
      ['250,000 blanks around', `${' '.repeat(125_000)}${good()}${' '.repeat(125_000)}`],
      [
        '900 elements with 4 attributes',
        before(
          twice,
          repeated(900, () => `<x${repeated(4, (n) => ` a${n}=""`)}/>`),
        ),
      ],
      [
        '900 elements with 4 namespaces',
        before(
          twice,
          repeated(900, () => `<x${repeated(4, (n) => ` xmlns:a${n}="b"`)}/>`),
        ),
      ],
      [
        '1,300 nested namespaces',
        before(
          good(),
          `${repeated(27, (d) => `<x${repeated(49, (n) => ` xmlns:a${d}x${n}="b"`)}>`)}${'</x>'.repeat(27)}`,
        ),
      ],
      ['200 KB of a signature value', good().replace(/<ds:SignatureValue>/, `$&${'A'.repeat(200_000)}`)],
      ['45,000 references', before(good(), `<x a="${'&amp;'.repeat(22_000)}">${'&amp;'.repeat(22_000)}</x>`)],
    ] as const) {
      const start = performance.now();
      expect(await refusal(() => readResponse(xml, ten)), what).toBe('signature');
      process.stdout.write(`${what}, ten keys: ${(performance.now() - start).toFixed(1)} ms\n`);
    }
    const many = before(
      good(),
      repeated(900, () => `<x${repeated(5, (n) => ` a${n}=""`)}/>`),
    );
    expect(await refusal(() => read(many))).toBe('weight');
  },
);

test('a signature with its elements in another order, or with a long list of prefixes, is refused (federation FR21, FR24)', async () => {
  const listed = (prefixes: string[]) => response(signed(assertion(), '_a1', K(), { prefixes }));
  expect(subjectIn((await read(listed(['xs', 'xsi']))).assertion)).toBe('ann-1');
  expect(await refusal(() => read(listed(Array.from({ length: 200 }, (_, n) => `p${n}`))))).toBe('signature');
  const fine = good();
  const [whole, info, value, key] =
    /(<ds:SignedInfo>.*<\/ds:SignedInfo>)(<ds:SignatureValue>.*<\/ds:SignatureValue>)(<ds:KeyInfo>.*<\/ds:KeyInfo>)/s.exec(
      fine,
    )!;
  // the package takes the first CanonicalizationMethod in a signature
  expect(await refusal(() => read(fine.replace(whole!, `${key}${info}${value}`)))).toBe('signature');
  expect(await refusal(() => read(fine.replace(whole!, `${value}${info}${key}`)))).toBe('signature');
});

/** What a pinned key signed, with a SignedInfo of another form: only the form can make it refused. */
function resigned(change: (info: string) => string): string {
  const changed = good().replace(/<ds:SignedInfo>.*<\/ds:SignedInfo>/s, change);
  const document = new DOMParser().parseFromString(changed, 'text/xml');
  const info = document.getElementsByTagNameNS(ns.signature, 'SignedInfo')[0]!;
  const material = new ExclusiveCanonicalization().process(info, {});
  const value = sign('sha256', Buffer.from(material), K().privateKey).toString('base64');
  return changed.replace(/(<ds:SignatureValue>)[^<]*/, `$1${value}`);
}
const prefixes = (list: string) => `<ec:InclusiveNamespaces xmlns:ec="${exclusive}" PrefixList="${list}"/>`;
const within = (name: string, content: string) => (info: string) =>
  info.replace(new RegExp(`<ds:${name} ([^>]*)/>`), `<ds:${name} $1>${content}</ds:${name}>`);
test.each<[string, (info: string) => string]>([
  [
    'with the methods in another order',
    (info) => info.replace(/(<ds:CanonicalizationMethod[^>]*\/>)(<ds:SignatureMethod[^>]*\/>)/, '$2$1'),
  ],
  [
    'with the parts of the reference in another order',
    (info) => info.replace(/(<ds:DigestMethod[^>]*\/>)(<ds:DigestValue>.*<\/ds:DigestValue>)/, '$2$1'),
  ],
  ['with an element in the canonicalization', within('CanonicalizationMethod', '<ds:XPath>x</ds:XPath>')],
  ['with a long list in the canonicalization', within('CanonicalizationMethod', prefixes('p '.repeat(300)))],
  ['with two lists in the canonicalization', within('CanonicalizationMethod', prefixes('a') + prefixes('b'))],
  ['with a length of the signature', within('SignatureMethod', '<ds:HMACOutputLength>8</ds:HMACOutputLength>')],
  ['with an element in the enveloped transform', within('Transform', '<ds:XPath>x</ds:XPath>')],
  ['with an element in the digest', within('DigestMethod', '<ds:XPath>x</ds:XPath>')],
  ['with an element beside', (info) => info.replace('</ds:SignedInfo>', '<ds:Object/></ds:SignedInfo>')],
])('a signature by a pinned key %s is refused (federation FR21, FR23)', async (_what, change) => {
  expect(subjectIn((await read(resigned((info) => info))).assertion)).toBe('ann-1');
  const xml = resigned(change);
  expect(xml).not.toBe(resigned((info) => info));
  expect(await refusal(() => read(xml))).toBe('signature');
});

test('a message is canonicalized once to find its key among many, and its content not at all without one (federation FR24)', async () => {
  const foreign = Array.from({ length: 10 }, () => publicKeyOf(other!));
  const xml = good();
  const process = vi.spyOn(ExclusiveCanonicalization.prototype, 'process');
  try {
    expect(await refusal(() => readResponse(xml, foreign))).toBe('signature');
    expect(process.mock.calls.map(([node]) => (node as Element).localName)).toEqual(['SignedInfo']);
  } finally {
    process.mockRestore();
  }
});

test('inflating ends at the size that a message may have (federation F38)', async () => {
  const bomb = deflateRawSync(Buffer.alloc(100_000_000, 'a')).toString('base64');
  const used = process.memoryUsage().rss;
  const start = performance.now();
  expect(await refusal(() => readQuery(`SAMLRequest=${encodeURIComponent(bomb)}`, []))).toBe('weight');
  process.stdout.write(
    `a bomb of 100 MB: ${(performance.now() - start).toFixed(1)} ms, ${((process.memoryUsage().rss - used) / 1e6).toFixed(1)} MB\n`,
  );
});

test('a message of nearly 1,000 elements is admitted (federation 9)', async () => {
  const many = Object.fromEntries([['groups', Array.from({ length: 900 }, (_, n) => `group-${n}`)]]);
  const xml = response(signed(assertion({ attributes: many }), '_a1', K()));
  const start = performance.now();
  expect(subjectIn((await read(xml)).assertion)).toBe('ann-1');
  process.stdout.write(`1,000 elements: ${(performance.now() - start).toFixed(1)} ms\n`);
});

const hmac = 'http://www.w3.org/2000/09/xmldsig#hmac-sha1';
test.each<[string, () => string]>([
  [
    'RSA-SHA1',
    () => response(signed(assertion(), '_a1', K(), { algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' })),
  ],
  [
    'a SHA-1 digest',
    () => response(signed(assertion(), '_a1', K(), { digest: 'http://www.w3.org/2000/09/xmldsig#sha1' })),
  ],
  [
    'HMAC with the certificate as its key',
    () =>
      response(
        signedBy(assertion(), '_a1', hmac, (material) =>
          createHmac('sha1', K().certificate).update(material).digest('base64'),
        ),
      ),
  ],
  // over the whole response, where inclusive canonicalization gives the sender and the reader the same bytes
  [
    'inclusive canonicalization',
    () =>
      signed(response(assertion()), '_r1', K(), {
        canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
      }),
  ],
  [
    'inclusive canonicalization with comments',
    () =>
      signed(response(assertion()), '_r1', K(), {
        canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments',
      }),
  ],
  [
    'inclusive canonicalization as a transform',
    () =>
      signed(response(assertion()), '_r1', K(), {
        transforms: [
          'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
          'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
        ],
      }),
  ],
  [
    'no transform but enveloped',
    () =>
      signed(response(assertion()), '_r1', K(), {
        transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature'],
      }),
  ],
  [
    'an XPath transform',
    () =>
      good().replace(
        'Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>',
        'Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"/></ds:Transforms>',
      ),
  ],
  [
    'an XSLT transform',
    () =>
      good().replace(
        'Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>',
        'Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/></ds:Transforms>',
      ),
  ],
])('a signature with %s is refused (federation FR23, F42)', async (_what, make) => {
  expect(await refusal(() => read(make()))).toBe('signature');
});

const encrypted = (xml: string) => encryptedAssertion(xml, own!.certificate, publicKeyOf(own!));

test('an encrypted assertion is decrypted first, and verified inside (federation FR27)', async () => {
  expect(subjectIn((await read(response(await encrypted(signed(assertion(), '_a1', K()))))).assertion)).toBe('ann-1');
});

test('an assertion that anybody could have encrypted is refused (federation F43)', async () => {
  const inside = await encrypted(assertion());
  const foreign = await encrypted(signed(assertion(), '_a1', other!));
  const fine = await encrypted(signed(assertion(), '_a1', K()));
  expect(await refusal(() => read(response(inside)))).toBe('signature');
  expect(await refusal(() => read(signed(response(inside), '_r1', K())))).toBe('signature');
  expect(await refusal(() => read(signed(response(foreign), '_r1', K())))).toBe('signature');
  expect(await refusal(() => read(response(fine + fine)))).toBe('form');
  expect(await refusal(() => read(response(fine + assertion({ id: '_a2' }))))).toBe('form');
});

test('CBC and RSA 1.5 are refused, and a wrong padding looks like a wrong signature (federation F42)', async () => {
  const fine = response(await encrypted(signed(assertion(), '_a1', K())));
  const cbc = fine.replace('http://www.w3.org/2009/xmlenc11#aes256-gcm', 'http://www.w3.org/2001/04/xmlenc#aes256-cbc');
  const rsa15 = fine.replace('xmlenc#rsa-oaep-mgf1p', 'xmlenc#rsa-1_5');
  expect(await refusal(() => read(cbc))).toBe('signature');
  expect(await refusal(() => read(rsa15))).toBe('signature');
  const damaged = fine.replace(/(<xenc:CipherValue>)(.{8})/, '$1AAAAAAAA');
  const foreign = response(await encrypted(signed(assertion(), '_a1', other!)));
  const messageOf = (xml: string) => read(xml).then(String, String);
  expect(damaged).not.toBe(fine);
  expect(await messageOf(damaged)).toBe(await messageOf(foreign));
});

test('a message whose root must be signed has one signature, as a child of the root (federation FR21)', async () => {
  const request = (id: string, name: string) =>
    element('samlp:LogoutRequest', { 'xmlns:samlp': ns.protocol, 'xmlns:saml': ns.assertion, ID: id }, [
      element('saml:Issuer', {}, 'idp'),
      element('saml:NameID', {}, name),
    ]).xml;
  const expected = { namespace: ns.protocol, name: 'LogoutRequest' };
  const fine = signElement(request('_l1', 'ann-1'), '_l1', K());
  expect(readSigned(fine, keys(), expected).attributes.get('ID')).toBe('_l1');
  expect(await refusal(() => readSigned(request('_l1', 'ann-1'), keys(), expected))).toBe('signature');
  const wrapped = request('_l2', 'root').replace(
    '<saml:NameID>',
    `<samlp:Extensions>${fine}</samlp:Extensions><saml:NameID>`,
  );
  expect(await refusal(() => readSigned(wrapped, keys(), expected))).toBe('signature');
  // the signature of another element, moved to the root, while that element stands elsewhere
  const signature = /<ds:Signature[\s\S]*<\/ds:Signature>/.exec(fine)![0];
  const moved = request('_l2', 'root')
    .replace('</saml:Issuer>', `</saml:Issuer>${signature}`)
    .replace('<saml:NameID>', `<samlp:Extensions>${fine.replace(signature, '')}</samlp:Extensions><saml:NameID>`);
  expect(await refusal(() => readSigned(moved, keys(), expected))).toBe('signature');
  expect(await refusal(() => readSigned(good(), keys(), expected))).toBe('form');
});

test('the signature of a query is verified over its octets, and covers the relay state (federation FR20, SAML Bindings 3.4.4.1)', async () => {
  const address = addressWith(
    'https://sp.example/slo?a=b',
    { name: 'SAMLRequest', xml: '<a/>', relayState: 'x y' },
    K().privateKey,
  );
  const query = new URL(address).search.slice(1);
  expect(readQuery(query, keys())).toMatchObject({ name: 'SAMLRequest', relayState: 'x y', signed: true });
  expect(readQuery(query, [publicKeyOf(other!)]).signed).toBe(false);
  expect(readQuery(query.replace('RelayState=x%20y', 'RelayState=y'), keys()).signed).toBe(false);
  expect(readQuery(query.replace('x%20y', 'x+y'), keys()).signed).toBe(false);
  expect(readQuery(query.replace(/&SigAlg=[^&]*/, `&SigAlg=${encodeURIComponent(hmac)}`), keys()).signed).toBe(false);
  expect(readQuery(query.replace(/&Signature=.*/, ''), keys())).toMatchObject({ signed: false, hasSignature: true });
  expect(await refusal(() => readQuery(`${query}&${query.split('&')[1]!}`, keys()))).toBe('form');
  expect(await refusal(() => readQuery(`${query}&SAMLResponse=x`, keys()))).toBe('form');
  expect(await refusal(() => readQuery(`${query.replace('SAMLRequest=', 'SAMLRequest=%ff')}`, keys()))).toBe('form');
});

test('a written value never becomes markup, whatever is in it (federation F47)', () => {
  const name = '<x a="b">&amp; \'"😀 \t\r\n]]> \u0001\ud800';
  const { root } = parseXml(element('a', { b: name }, name).xml);
  const expected = name.replace('\u0001', '\ufffd').replace('\ud800', '\ufffd');
  expect(root.text).toBe(expected);
  expect(root.attributes.get('b')).toBe(expected);
});

const metadata = (keyDescriptor: string, more = '') =>
  `<!-- of a test --><md:EntityDescriptor xmlns:md="${ns.metadata}" entityID="https://idp.example/entity"><md:IDPSSODescriptor protocolSupportEnumeration="${ns.protocol}">${keyDescriptor}` +
  `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/></md:IDPSSODescriptor>${more}</md:EntityDescriptor>`;
const keyOf = (use: string, certificate: string) =>
  `<md:KeyDescriptor${use}><ds:KeyInfo xmlns:ds="${ns.signature}"><ds:X509Data><ds:X509Certificate>\n${certificate.replace(/-----.*-----/g, '')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;

test('metadata gives the keys that are named for signing, and no other (federation F35, F44)', async () => {
  const { entityId, identityProvider } = readMetadata(metadata(keyOf(' use="signing"', K().certificate)));
  expect(entityId).toBe('https://idp.example/entity');
  expect(identityProvider!.certificates.map(({ pem }) => pem)).toEqual([K().certificate]);
  expect(identityProvider!.signOn[0]!.location).toBe('https://idp.example/sso');
  expect(readMetadata(metadata(keyOf('', K().certificate))).identityProvider!.certificates).toEqual([]);
  expect(readMetadata(metadata(keyOf(' use="encryption"', K().certificate))).identityProvider!.certificates).toEqual(
    [],
  );
  expect(await refusal(() => readMetadata(metadata(keyOf(' use="signing"', 'AAAA'))))).toBe('form');
  const two = `<md:EntitiesDescriptor xmlns:md="${ns.metadata}">${metadata('')}${metadata('')}</md:EntitiesDescriptor>`;
  expect(await refusal(() => readMetadata(two))).toBe('form');
  expect(await refusal(() => readMetadata(metadata('', ' '.repeat(5_000_000))))).toBe('weight');
});
