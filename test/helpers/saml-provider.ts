// Plays an identity provider by SAML: publishes metadata, reads the service's requests, and answers with what a test says, also with lies.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inflateRawSync } from 'node:zlib';
import { bodyOf, readCertificate } from '../../src/saml/certificates.ts';
import { ns } from '../../src/saml/names.ts';
import { childOf, uriOf } from '../../src/saml/reader/elements.ts';
import { readUnsigned } from '../../src/saml/reader/signed.ts';
import { readQuery } from '../../src/saml/redirect-binding.ts';
import {
  assertion,
  type AssertionParts,
  response,
  type ResponseParts,
  signed,
  type TestKey,
  testKey,
} from './saml-messages.ts';
import { adminToken, call } from './grants.ts';
import type { TestService } from './service.ts';
import { signInPage, leave } from './connections.ts';
import { type Page, UserAgent } from './user-agent.ts';

export type SamlProvider = Awaited<ReturnType<typeof startSamlProvider>>;

/** What a test changes in an answer. */
export interface Lie {
  assertion?: AssertionParts;
  response?: ResponseParts;
  /** Who signs the assertion, and the whole response; null for nobody. By default K signs the assertion. */
  key?: TestKey | null;
  outer?: TestKey;
  /** Replaces the signed assertion. */
  inside?(signedAssertion: string): string | Promise<string>;
}

/** A request of the service, as the identity provider reads it. */
export interface ReceivedRequest {
  id: string;
  consumer: string;
  audience: string;
  relayState: string;
  xml: string;
  query: string;
}

export async function startSamlProvider() {
  const [pinned, other] = await Promise.all([testKey('K'), testKey('X')]);
  const state = { metadata: '', requests: 0 };
  const server = createServer((_request, answer) => {
    state.requests += 1;
    answer.writeHead(200, { 'content-type': 'application/samlmetadata+xml' }).end(state.metadata);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const base = `http://${host}`;
  const entityId = `${base}/entity`;
  const metadata = ({
    keys = [pinned],
    use = ' use="signing"',
    entity = entityId,
    sso = `${base}/sso`,
  }: { keys?: TestKey[]; use?: string; entity?: string; sso?: string } = {}) =>
    `<md:EntityDescriptor xmlns:md="${ns.metadata}" entityID="${entity}"><md:IDPSSODescriptor protocolSupportEnumeration="${ns.protocol}">` +
    keys
      .map(
        ({ certificate }) =>
          `<md:KeyDescriptor${use}><ds:KeyInfo xmlns:ds="${ns.signature}"><ds:X509Data><ds:X509Certificate>${bodyOf(certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`,
      )
      .join('') +
    `<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${base}/slo"/>` +
    `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${sso}"/></md:IDPSSODescriptor></md:EntityDescriptor>`;
  state.metadata = metadata();

  return {
    pinned,
    other,
    host,
    base,
    entityId,
    metadata,
    metadataUri: `${base}/metadata`,
    /** How often the metadata was read. */
    get requests() {
      return state.requests;
    },
    publish(document: string): void {
      state.metadata = document;
    },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
    /** The value of the form that answers a request. */
    async answer(request: Partial<ReceivedRequest>, lie: Lie = {}): Promise<string> {
      const { consumer = '', audience = '', id } = request;
      const base = { issuer: entityId, inResponseTo: id };
      const id0 = lie.assertion?.id ?? `_${Math.random().toString(36).slice(2)}`;
      const parts = { id: id0, audience, recipient: consumer, ...base, ...lie.assertion };
      const made = assertion(parts);
      const inner = lie.key === null ? made : signed(made, id0, lie.key ?? pinned);
      const whole = response(lie.inside ? await lie.inside(inner) : inner, {
        destination: consumer,
        ...base,
        ...lie.response,
      });
      const all = lie.outer ? signed(whole, lie.response?.id ?? '_r1', lie.outer) : whole;
      return Buffer.from(all).toString('base64');
    },
  };
}

/** Reads the request in the address to which the service sends a browser. */
export function readRequest(address: string): ReceivedRequest {
  const { search } = new URL(address);
  const query = search.slice(1);
  const { message, relayState = '' } = readQuery(query, []);
  const root = readUnsigned(message, { namespace: ns.protocol, name: 'AuthnRequest' });
  return {
    id: root.attributes.get('ID')!,
    consumer: root.attributes.get('AssertionConsumerServiceURL')!,
    audience: uriOf(childOf(root, ns.assertion, 'Issuer')!),
    relayState,
    xml: Buffer.from(message).toString(),
    query,
  };
}
export const inflated = (value: string): string => inflateRawSync(Buffer.from(value, 'base64')).toString();

/** Creates an enabled connection as an administrator does. @param members of the API */
export async function addSamlConnection(
  service: TestService,
  provider: SamlProvider,
  id: string,
  { settings, ...members }: Record<string, unknown> = {},
): Promise<void> {
  const token = await adminToken(service);
  const given = {
    entity_id: provider.entityId,
    sso_uri: `${provider.base}/sso`,
    slo_uri: `${provider.base}/slo`,
    certificates: [provider.pinned.certificate],
    ...(settings as object),
  };
  const made = await call(`${service.issuer}/admin/api/connections`, {
    token,
    body: { id, kind: 'saml', display_name: `The ${id}`, status: 'enabled', settings: given, ...members },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
}

/** Begins a sign-in. @returns the request as the identity provider reads it */
export async function beginSaml(agent: UserAgent, id: string, address?: string): Promise<ReceivedRequest> {
  const left = await leave(agent, await signInPage(agent, id, address), id);
  if (left.location === undefined) throw new Error(`no redirect (${left.status}): ${left.body.slice(0, 2000)}`);
  return readRequest(left.location);
}

/** Posts an answer as a page of the identity provider does: the browser sends no cookie with it. */
export async function postAnswer(agent: UserAgent, id: string, fields: Record<string, string>): Promise<Page> {
  const posted = await new UserAgent(agent).post(`/connections/${id}/saml/acs`, fields, {
    origin: 'null',
    'sec-fetch-site': 'cross-site',
  });
  return posted.location === undefined ? posted : agent.follow(await agent.get(posted.location));
}

/** Signs in by a connection, with an answer of which the test changes parts. */
export async function signInBySaml(
  agent: UserAgent,
  provider: SamlProvider,
  id: string,
  lie: Lie = {},
  address?: string,
): Promise<Page> {
  const request = await beginSaml(agent, id, address);
  const SAMLResponse = await provider.answer(request, lie);
  return postAnswer(agent, id, { SAMLResponse, RelayState: request.relayState });
}

export const fingerprintOf = ({ certificate }: TestKey): string => readCertificate(certificate)!.fingerprint;
