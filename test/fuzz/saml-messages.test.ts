// Mutates good messages of SAML at random: none may be admitted with a value that its signature does not cover, and none may end in another error.
// SAML_FUZZ_RUNS is the number of messages, and SAML_FUZZ_SEED repeats a run.
import { DOMParser, XMLSerializer } from '@xmldom/xmldom';
import { beforeAll, expect, test } from 'vitest';
import { readCertificate } from '../../src/saml/certificates.ts';
import { checkLogoutRequest, logoutRequest, logoutRequestName } from '../../src/saml/logout.ts';
import { encryptedAssertion } from '../../src/saml/reader/encryption.ts';
import { readResponse } from '../../src/saml/reader/response.ts';
import { readSigned, readUnsigned } from '../../src/saml/reader/signed.ts';
import { addressWith, readQuery } from '../../src/saml/redirect-binding.ts';
import { SamlRefused } from '../../src/saml/refused.ts';
import { checkAnswer } from '../../src/saml/service-provider/answer.ts';
import { signElement } from '../../src/saml/signing.ts';
import { assertion, response, signed, type TestKey, testKey } from '../helpers/saml-messages.ts';

const runs = Number(process.env['SAML_FUZZ_RUNS'] ?? 150);
const seed = Number(process.env['SAML_FUZZ_SEED'] ?? Date.now() % 1_000_000_000);

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
const random = randomOf(seed);
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

let [pinned, own]: TestKey[] = [];
beforeAll(async () => {
  [pinned, own] = await Promise.all(['K', 'own'].map(testKey));
});
const publicKeyOf = ({ certificate }: TestKey) => readCertificate(certificate)!.publicKey;

/** Runs what reads a message. @returns what it admitted, or undefined where it refused */
async function admittedBy<T>(
  read: () => T | Promise<T>,
  slowest: [number, string][],
  what: string,
): Promise<T | undefined> {
  const start = performance.now();
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw new Error(`seed ${seed}: another error for ${what}`, { cause: error });
    return undefined;
  } finally {
    slowest.push([performance.now() - start, what]);
    if (slowest.length > 200) slowest.sort(([a], [b]) => b - a).splice(5);
  }
}
function tell(name: string, slowest: [number, string][], admitted: number): void {
  const times = slowest.sort(([a], [b]) => b - a).slice(0, 5);
  const said = times.map(([time, what]) => `${time.toFixed(0)} ms (${what.length} characters)`).join(', ');
  process.stdout.write(
    `${name}: seed ${seed}, ${runs} messages, ${admitted} admitted unchanged; the slowest: ${said}\n`,
  );
}

/** Milliseconds: each message takes a few. */
const longest = 120_000 + runs * 200;

test(
  'no mutated response is admitted with a value that its signature does not cover (federation FR20, F35)',
  { timeout: longest },
  async () => {
    const now = new Date();
    const inner = assertion({ now, attributes: { mail: 'ann@corp.example', groups: ['a', 'b'] } });
    const signedInner = signed(inner, '_a1', pinned!);
    const messages = [
      response(signedInner, { now }),
      signed(response(inner, { now }), '_r1', pinned!),
      signed(response(signedInner, { now }), '_r1', pinned!),
      response(await encryptedAssertion(signedInner, own!.certificate, publicKeyOf(own!)), { now }),
    ];
    const expected = {
      entityId: 'https://idp.example/entity',
      audience: 'https://sp.example/metadata',
      consumerUri: 'https://sp.example/acs',
      requestId: '_request',
      now,
    };
    const read = async (xml: string) =>
      checkAnswer(await readResponse(Buffer.from(xml), [publicKeyOf(pinned!)], [own!.privateKey]), expected);
    const truth = await read(messages[0]!);
    const slowest: [number, string][] = [];
    let admitted = 0;
    for (let run = 0; run < runs; run++) {
      const xml = mutated(messages[run % messages.length]!);
      const answer = await admittedBy(() => read(xml), slowest, xml);
      if (answer === undefined) continue;
      admitted += 1;
      expect(answer, `seed ${seed}, run ${run}: ${xml}`).toEqual(truth);
    }
    tell('responses', slowest, admitted);
  },
);

test(
  'no mutated LogoutRequest ends a session that its signature does not name (federation FR20, F48)',
  { timeout: longest },
  async () => {
    const now = new Date();
    const [sender, destination] = ['https://idp.example/entity', 'https://sp.example/slo'];
    const plain = logoutRequest({
      id: '_r1',
      issuer: sender,
      destination,
      now,
      nameId: { value: 'ann-1', format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' },
      sessionIndex: '_session1',
    });
    const keys = [publicKeyOf(pinned!)];
    const byPost = signElement(plain, '_r1', pinned!);
    const query = new URL(
      addressWith(destination, { name: 'SAMLRequest', xml: plain, relayState: 'x' }, pinned!.privateKey),
    ).search.slice(1);
    const check = (root: ReturnType<typeof readUnsigned>) => checkLogoutRequest(root, { sender, destination, now });
    const truth = check(readSigned(byPost, keys, logoutRequestName));
    const slowest: [number, string][] = [];
    let admitted = 0;
    for (let run = 0; run < runs; run++) {
      const isQuery = run % 4 === 3;
      const text = isQuery ? mutateText(query) : mutated(byPost);
      const answer = await admittedBy(
        () => {
          if (!isQuery) return check(readSigned(Buffer.from(text), keys, logoutRequestName));
          const { message, signed: isSigned } = readQuery(text, keys);
          if (!isSigned) throw new SamlRefused('signature', 'not signed');
          return check(readUnsigned(message, logoutRequestName));
        },
        slowest,
        text,
      );
      if (answer === undefined) continue;
      admitted += 1;
      expect(answer, `seed ${seed}, run ${run}: ${text}`).toEqual(truth);
    }
    tell('logout requests', slowest, admitted);
  },
);
