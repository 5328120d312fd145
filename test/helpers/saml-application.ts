// Plays a SAML application: it writes its messages by hand, so that a test can make them wrong, and reads answers with node-saml.
import { execFileSync } from 'node:child_process';
import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { type Profile, SAML, type SamlConfig, ValidateInResponseTo } from '@node-saml/node-saml';
import { SignedXml } from 'xml-crypto';
import { adminToken, call } from './grants.ts';
import type { TestService } from './service.ts';
import { hiddenFields, type Page, type UserAgent } from './user-agent.ts';

export interface KeyPair {
  privateKey: KeyObject;
  certificate: string;
}

export function newKeyPair(): KeyPair {
  const text = execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=sp', '-keyout', '-', '-out', '-'],
    { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
  );
  return {
    privateKey: createPrivateKey(/-----BEGIN PRIVATE KEY-----[\s\S]*?-----END PRIVATE KEY-----/.exec(text)![0]),
    certificate: /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----\n/.exec(text)![0],
  };
}

const namespaces =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"';
export const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
export const newRequestId = (): string => `_${randomBytes(16).toString('hex')}`;

/** Signs a message as its child after the Issuer. */
export function signedXml(xml: string, { privateKey, certificate }: KeyPair, algorithm = rsaSha256): string {
  const signed = new SignedXml({
    privateKey,
    publicCert: certificate,
    signatureAlgorithm: algorithm,
    canonicalizationAlgorithm: exclusive,
  });
  signed.addReference({
    xpath: '/*',
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive],
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  signed.computeSignature(xml, { location: { reference: "/*/*[local-name(.)='Issuer']", action: 'after' } });
  return signed.getSignedXml();
}

/** The query of the redirect binding. @param key signs it */
export function queryOf(xml: string, { relayState, key }: { relayState?: string; key?: KeyObject } = {}): string {
  const parts = [`SAMLRequest=${encodeURIComponent(deflateRawSync(xml).toString('base64'))}`];
  if (relayState !== undefined) parts.push(`RelayState=${encodeURIComponent(relayState)}`);
  if (key) {
    parts.push(`SigAlg=${encodeURIComponent(rsaSha256)}`);
    parts.push(`Signature=${encodeURIComponent(sign('sha256', Buffer.from(parts.join('&')), key).toString('base64'))}`);
  }
  return parts.join('&');
}

export interface RequestParts {
  id?: string;
  issuer?: string;
  destination?: string | undefined;
  acsUri?: string;
  acsIndex?: string;
  attributes?: string;
  children?: string;
}

/** What the service posted to an application. */
export interface PostedAnswer {
  action: string;
  xml: string;
  relayState: string | undefined;
}

const decoded = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"');

/** The answer in the form of a page; undefined if the page posts none. */
export function answerOf(page: Page): PostedAnswer | undefined {
  const fields = hiddenFields(page.body);
  const action = /<form method="post" action="([^"]*)" id="form-post">/.exec(page.body)?.[1];
  const { SAMLResponse: response, RelayState: relayState } = fields;
  if (action === undefined || response === undefined) return undefined;
  return { action: decoded(action), xml: Buffer.from(response, 'base64').toString(), relayState };
}

export const statusesOf = ({ xml }: Pick<PostedAnswer, 'xml'>): string[] =>
  [...xml.matchAll(/StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:(\w+)"/g)].map((match) => match[1]!);

/** The metadata of the service, with the certificates that it publishes. */
export async function idpMetadata(service: TestService): Promise<{ xml: string; certificates: string[] }> {
  const response = await fetch(`${service.issuer}/saml/metadata`);
  const xml = await response.text();
  return { xml, certificates: [...xml.matchAll(/X509Certificate>([^<]+)</g)].map((match) => match[1]!) };
}

let applications = 0;

export class SamlApplication {
  readonly service: TestService;
  readonly clientId: string;
  readonly name: string;
  readonly entityId: string;
  readonly acsUri: string;
  readonly sloUri: string;
  readonly keys: KeyPair;

  constructor(service: TestService, clientId: string, name: string, keys: KeyPair) {
    this.service = service;
    this.clientId = clientId;
    this.name = name;
    this.entityId = `https://${name}.example/metadata`;
    this.acsUri = `https://${name}.example/acs`;
    this.sloUri = `https://${name}.example/slo`;
    this.keys = keys;
  }

  /** Registers an application by the HTTP API. */
  static async create(
    service: TestService,
    members: Record<string, unknown> = {},
    keys = newKeyPair(),
  ): Promise<SamlApplication> {
    const name = `sp-${++applications}`;
    const planned = new SamlApplication(service, '', name, keys);
    const { status, body } = await call(`${service.issuer}/admin/api/clients`, {
      token: await adminToken(service),
      body: {
        kind: 'saml',
        client_name: name,
        entity_id: planned.entityId,
        acs_uris: [planned.acsUri, `${planned.acsUri}/second`],
        slo_uri: planned.sloUri,
        certificates: [keys.certificate],
        ...members,
      },
    });
    if (status !== 201) throw new Error(`no application: ${JSON.stringify(body)}`);
    return new SamlApplication(service, String(body['client_id']), name, keys);
  }

  get ssoUri(): string {
    return `${this.service.issuer}/saml/sso`;
  }

  authnRequest({ id = newRequestId(), issuer = this.entityId, ...parts }: RequestParts = {}): string {
    const destination = 'destination' in parts ? parts.destination : this.ssoUri;
    const attributes = [
      ...(destination === undefined ? [] : [`Destination="${destination}"`]),
      ...(parts.acsUri === undefined ? [] : [`AssertionConsumerServiceURL="${parts.acsUri}"`]),
      ...(parts.acsIndex === undefined ? [] : [`AssertionConsumerServiceIndex="${parts.acsIndex}"`]),
      parts.attributes ?? '',
    ].join(' ');
    return `<samlp:AuthnRequest ${namespaces} ID="${id}" Version="2.0" IssueInstant="${new Date().toISOString()}" ${attributes}><saml:Issuer>${issuer}</saml:Issuer>${parts.children ?? ''}</samlp:AuthnRequest>`;
  }

  /** Sends an AuthnRequest by redirect, unsigned. */
  begin(agent: UserAgent, parts: RequestParts = {}, relayState?: string): Promise<Page> {
    return this.send(agent, queryOf(this.authnRequest(parts), relayState === undefined ? {} : { relayState }));
  }

  async send(agent: UserAgent, query: string): Promise<Page> {
    return agent.follow(await agent.get(`/saml/sso?${query}`, { 'sec-fetch-site': 'cross-site' }));
  }

  /** Posts a message from the application's site: the browser sends no cookie with it. */
  async post(agent: UserAgent, xml: string, relayState?: string, path = '/saml/sso'): Promise<Page> {
    const cookies = new Map(agent.cookies);
    agent.cookies.clear();
    const form = {
      SAMLRequest: Buffer.from(xml).toString('base64'),
      ...(relayState !== undefined && { RelayState: relayState }),
    };
    const page = await agent.post(path, form, { origin: 'https://sp.example', 'sec-fetch-site': 'cross-site' });
    for (const [name, value] of cookies) if (!agent.cookies.has(name)) agent.cookies.set(name, value);
    return agent.follow(page);
  }

  /** Begins, and signs in where the service asks. */
  async signIn(
    agent: UserAgent,
    user: { username: string; password: string },
    parts: RequestParts = {},
    relayState?: string,
  ): Promise<PostedAnswer> {
    let page = await this.begin(agent, parts, relayState);
    if (page.body.includes('id="password"')) page = await agent.signIn(user, page);
    const answer = answerOf(page);
    if (!answer) throw new Error(`no answer from ${page.url} (${page.status}): ${page.body.slice(0, 2000)}`);
    return answer;
  }

  /** Reads an answer as an application does. */
  async read({ xml }: Pick<PostedAnswer, 'xml'>, options: Partial<SamlConfig> = {}): Promise<Profile> {
    const { certificates } = await idpMetadata(this.service);
    const saml = new SAML({
      callbackUrl: this.acsUri,
      entryPoint: this.ssoUri,
      issuer: this.entityId,
      audience: this.entityId,
      idpIssuer: `${this.service.issuer}/saml/metadata`,
      idpCert: certificates,
      wantAuthnResponseSigned: false,
      wantAssertionsSigned: true,
      validateInResponseTo: ValidateInResponseTo.never,
      ...options,
    });
    const { profile } = await saml.validatePostResponseAsync({ SAMLResponse: Buffer.from(xml).toString('base64') });
    return profile!;
  }

  logoutRequest({
    nameId,
    sessionIndex,
    issuer = this.entityId,
    id = newRequestId(),
    at = new Date(),
    destination = `${this.service.issuer}/saml/logout`,
    attributes = '',
  }: {
    nameId: string;
    sessionIndex?: string | undefined;
    issuer?: string;
    id?: string;
    at?: Date;
    destination?: string;
    attributes?: string;
  }): string {
    const index = sessionIndex === undefined ? '' : `<samlp:SessionIndex>${sessionIndex}</samlp:SessionIndex>`;
    return `<samlp:LogoutRequest ${namespaces} ID="${id}" Version="2.0" IssueInstant="${at.toISOString()}" Destination="${destination}" ${attributes}><saml:Issuer>${issuer}</saml:Issuer><saml:NameID>${nameId}</saml:NameID>${index}</samlp:LogoutRequest>`;
  }
}
