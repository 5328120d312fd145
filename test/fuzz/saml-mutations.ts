// Mutates good messages of SAML at random, and lets the reader and the checks decide: none may be admitted with a value that its signature does not cover,
// and none may end in another error. The test runs some, and `npm run walks -- saml-fuzz` many.
import { deepStrictEqual } from 'node:assert/strict';
import { DOMParser, XMLSerializer } from '@xmldom/xmldom';
import { ConnectionFailure } from '../../src/domain/connections/kind.ts';
import { samlVariant } from '../../src/domain/connections/saml/saml.ts';
import { identityOf } from '../../src/domain/connections/saml/identity.ts';
import { authnRequestOf } from '../../src/saml/identity-provider/authn-request.ts';
import { readCertificate } from '../../src/saml/certificates.ts';
import { checkLogoutRequest, logoutRequest, logoutRequestName } from '../../src/saml/logout.ts';
import { ns } from '../../src/saml/names.ts';
import { encryptedAssertion } from '../../src/saml/reader/encryption.ts';
import type { XmlElement } from '../../src/saml/reader/elements.ts';
import { readResponse } from '../../src/saml/reader/response.ts';
import { readSigned, readUnsigned } from '../../src/saml/reader/signed.ts';
import { addressWith, readQuery } from '../../src/saml/redirect-binding.ts';
import { SamlRefused } from '../../src/saml/refused.ts';
import { checkAnswer } from '../../src/saml/service-provider/answer.ts';
import { signElement } from '../../src/saml/signing.ts';
import { assertion, response, signed, type TestKey, testKey } from '../helpers/saml-messages.ts';

/** A generator of numbers from 0 to 1 that a seed repeats. */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
/** Set by each run of the fuzz. */
let random = randomOf(0);
const below = (most: number): number => Math.floor(random() * most);
const oneOf = <T>(all: readonly T[]): T => all[below(all.length)]!;

const hostile = [
  '<!---->',
  '<!-- x -->',
  '<?x y?>',
  '<![CDATA[x]]>',
  '&x;',
  '&#0;',
  '<!DOCTYPE x>',
  ']]>',
  '\u0000',
  '\ufeff',
  '\u2028',
  ' xmlns:saml="urn:x"',
  ' ID="_a1"',
  ' Id="_r1"',
  ' id="_a1"',
  '<saml:Assertion/>',
  '</saml:Assertion>',
  'root',
  '&#114;oot',
  '<ds:Object/>',
  '<x xmlns="urn:oasis:names:tc:SAML:2.0:assertion">root</x>',
];
const wrappers = ['samlp:Extensions', 'saml:Advice', 'ds:Object', 'saml:Assertion', 'samlp:Response', 'ds:Signature'];

/** Changes the text: bytes, slices, and what no honest sender writes. */
function mutateText(xml: string): string {
  const [at, length] = [below(xml.length), 1 + below(40)];
  switch (below(6)) {
    case 0:
      return xml.slice(0, at) + String.fromCharCode(xml.charCodeAt(at) ^ (1 << below(7))) + xml.slice(at + 1);
    case 1:
      return xml.slice(0, at) + xml.slice(at + length);
    case 2:
      return xml.slice(0, at) + xml.slice(at, at + length) + xml.slice(at);
    case 3:
      return xml.slice(0, at) + oneOf(hostile) + xml.slice(at);
    case 4:
      return xml.replace(/ann-1/, oneOf(['root', 'ann-2', 'ann<!---->-1', 'ANN-1', 'ann-1 ']));
    default:
      return xml.replace(/"(_[ar]1)"/, `"${oneOf(['_a1', '_r1', '_x', ''])}"`);
  }
}

/** Changes the tree: moves, doubles, wraps, renames and removes elements, and changes their texts. */
function mutateTree(xml: string): string {
  try {
    const document = new DOMParser({ errorHandler: () => undefined }).parseFromString(xml, 'text/xml');
    const all = Array.from(document.getElementsByTagName('*'));
    const [one, other] = [oneOf(all), oneOf(all)];
    const copy = one.cloneNode(true);
    switch (below(8)) {
      case 0:
        other.appendChild(copy);
        break;
      case 1:
        other.insertBefore(copy, other.firstChild);
        break;
      case 2:
        if (one !== document.documentElement && !contains(one, other)) other.appendChild(one);
        break;
      case 3:
        one.parentNode?.removeChild(one);
        break;
      case 4: {
        // the signed part in a wrapper, and a changed copy at its place
        const wrapper = document.createElement(oneOf(wrappers));
        one.parentNode?.insertBefore(wrapper, one);
        wrapper.appendChild(copy);
        const texts = one.textContent ?? '';
        if (texts.length < 200) one.textContent = 'root';
        break;
      }
      case 5:
        one.textContent = oneOf(['root', 'ann-2', '', 'https://evil.example']);
        break;
      case 6:
        one.setAttribute(
          oneOf(['ID', 'Id', 'URI', 'Algorithm', 'Destination', 'xmlns:saml', 'xmlns']),
          oneOf(['_a1', '#_r1', '', 'urn:x']),
        );
        break;
      default:
        one.parentNode?.insertBefore(copy, one);
    }
    return new XMLSerializer().serializeToString(document);
  } catch {
    return mutateText(xml);
  }
}
const contains = (outer: Node, inner: Node): boolean => {
  for (let node: Node | null = inner; node; node = node.parentNode) if (node === outer) return true;
  return false;
};

function mutated(xml: string): string {
  let text = xml;
  for (let changes = 1 + below(3); changes > 0; changes--) text = random() < 0.5 ? mutateText(text) : mutateTree(text);
  return text;
}

const publicKeyOf = ({ certificate }: TestKey) => readCertificate(certificate)!.publicKey;

export interface Fuzzed {
  kind: string;
  seed: number;
  messages: number;
  /** How many were admitted: what they say is what the signature covers. */
  admitted: number;
  /** The slowest: milliseconds, characters, and the run. */
  slowest: { ms: number; characters: number; run: number }[];
}

interface Kind<T> {
  kind: string;
  /** @returns the message of a run, mutated */
  make(run: number): string;
  read(message: string, run: number): T | Promise<T>;
  truth: T;
}

/** @throws if a message is admitted with another value, or fails otherwise than by a refusal */
async function fuzz<T>({ kind, make, read, truth }: Kind<T>, runs: number, seed: number): Promise<Fuzzed> {
  random = randomOf(seed);
  const slowest: Fuzzed['slowest'] = [];
  let admitted = 0;
  for (let run = 0; run < runs; run++) {
    const message = make(run);
    const start = performance.now();
    let answer: T | undefined;
    try {
      answer = await read(message, run);
    } catch (error) {
      if (!(error instanceof SamlRefused || error instanceof ConnectionFailure))
        throw new Error(`${kind}, seed ${seed}, run ${run}: another error for ${message}`, { cause: error });
    }
    slowest.push({ ms: performance.now() - start, characters: message.length, run });
    if (slowest.length > 200) slowest.sort((a, b) => b.ms - a.ms).splice(5);
    if (answer === undefined) continue;
    admitted += 1;
    deepStrictEqual(answer, truth, `${kind}, seed ${seed}, run ${run}: ${message}`);
  }
  return { kind, seed, messages: runs, admitted, slowest: slowest.sort((a, b) => b.ms - a.ms).slice(0, 5) };
}

const [idp, sp] = ['https://idp.example/entity', 'https://sp.example/metadata'];

/** Responses of an identity provider, as the service reads them: signed in each place, and encrypted. */
export async function fuzzResponses(runs: number, seed: number): Promise<Fuzzed> {
  const [pinned, own] = await Promise.all([testKey('K'), testKey('own')]);
  const now = new Date();
  const inner = assertion({ now, attributes: { mail: 'ann@corp.example', groups: ['a', 'b'] } });
  const signedInner = signed(inner, '_a1', pinned);
  const messages = [
    response(signedInner, { now }),
    signed(response(inner, { now }), '_r1', pinned),
    signed(response(signedInner, { now }), '_r1', pinned),
    response(await encryptedAssertion(signedInner, own.certificate, publicKeyOf(own)), { now }),
  ];
  const expected = {
    entityId: idp,
    audience: sp,
    consumerUri: 'https://sp.example/acs',
    requestId: '_request',
    now,
  };
  const noKey = () => Promise.reject(new Error('no key is made'));
  const { settings } = samlVariant([], noKey).profile({ entity_id: idp });
  const connection = { trustMfa: false, mfaValues: [], logout: 'propagate' as const };
  const read = async (xml: string) => {
    const answer = checkAnswer(await readResponse(Buffer.from(xml), [publicKeyOf(pinned)], [own.privateKey]), expected);
    return {
      answer,
      identity: identityOf(connection, { ...settings, entity_id: idp }, answer, { audience: sp, now }),
    };
  };
  const make = (run: number) => mutated(messages[run % messages.length]!);
  return fuzz({ kind: 'responses', make, read, truth: await read(messages[0]!) }, runs, seed);
}

/** Reads a message in a form, or every fourth time in a query. */
function readEither<T>(pinned: TestKey, name: { namespace: string; name: string }, check: (root: XmlElement) => T) {
  const keys = [publicKeyOf(pinned)];
  return (message: string, run: number): T => {
    if (run % 4 !== 3) return check(readSigned(Buffer.from(message), keys, name));
    const { message: bytes, signed: isSigned } = readQuery(message, keys);
    if (!isSigned) throw new SamlRefused('signature', 'not signed');
    return check(readUnsigned(bytes, name));
  };
}
function makeEither(pinned: TestKey, plain: string, destination: string) {
  const byPost = signElement(plain, '_r1', pinned);
  const message = { name: 'SAMLRequest', xml: plain, relayState: 'x' } as const;
  const query = new URL(addressWith(destination, message, pinned.privateKey)).search.slice(1);
  return { byPost, make: (run: number) => (run % 4 === 3 ? mutateText(query) : mutated(byPost)) };
}

/** LogoutRequests, whose NameID and session must be those that were signed. */
export async function fuzzLogoutRequests(runs: number, seed: number): Promise<Fuzzed> {
  const pinned = await testKey('K');
  const now = new Date();
  const destination = 'https://sp.example/slo';
  const nameId = { value: 'ann-1', format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' };
  const plain = logoutRequest({ id: '_r1', issuer: idp, destination, now, nameId, sessionIndex: '_session1' });
  const read = readEither(pinned, logoutRequestName, (root) =>
    checkLogoutRequest(root, { sender: idp, destination, now }),
  );
  const { byPost, make } = makeEither(pinned, plain, destination);
  return fuzz({ kind: 'logout requests', make, read, truth: read(byPost, 0) }, runs, seed);
}

/** AuthnRequests of an application, whose address and wishes must be those that were signed. */
export async function fuzzAuthnRequests(runs: number, seed: number): Promise<Fuzzed> {
  const pinned = await testKey('K');
  const destination = 'https://idp.example/sso';
  const plain =
    `<samlp:AuthnRequest xmlns:samlp="${ns.protocol}" xmlns:saml="${ns.assertion}" ID="_r1" Version="2.0" IssueInstant="2026-01-01T00:00:00Z" ` +
    `Destination="${destination}" ForceAuthn="true" AssertionConsumerServiceURL="https://sp.example/acs"><saml:Issuer>${sp}</saml:Issuer>` +
    '<samlp:NameIDPolicy Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"/><samlp:RequestedAuthnContext Comparison="exact">' +
    '<saml:AuthnContextClassRef>https://refeds.org/profile/mfa</saml:AuthnContextClassRef></samlp:RequestedAuthnContext></samlp:AuthnRequest>';
  const read = readEither(pinned, { namespace: ns.protocol, name: 'AuthnRequest' }, authnRequestOf);
  const { byPost, make } = makeEither(pinned, plain, destination);
  return fuzz({ kind: 'authentication requests', make, read, truth: read(byPost, 0) }, runs, seed);
}

export const told = ({ kind, seed, messages, admitted, slowest }: Fuzzed): string =>
  `${kind}: seed ${seed}, ${messages} messages, ${admitted} admitted with what was signed; the slowest: ${slowest
    .map(({ ms, characters, run }) => `${ms.toFixed(0)} ms (run ${run}, ${characters} characters)`)
    .join(', ')}\n`;
