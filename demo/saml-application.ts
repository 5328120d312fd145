// Runs a sample application that signs users in by SAML 2.0 with node-saml: it gives its metadata, signs its requests, reads assertions, and signs out.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Profile, SAML, SamlStatusError, ValidateInResponseTo } from '@node-saml/node-saml';
import { makeKeyWithCertificate } from '../src/saml/certificates.ts';
import { type ListedClient, runCommand } from './commands.ts';
import { application, libraryPage, type Member, type SamlNotice } from './saml-views.ts';
import { problemPage } from './views.ts';
import { createSessions, keepAtMost, listen, readForm, redirect, send } from './web.ts';

/** What the application stores: the client that an administrator created for it, and its own key. */
export interface SamlRegistration {
  url: string;
  clientId: string;
  /** PEM. */
  privateKey: string;
  certificate: string;
}

export interface SamlApplicationOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
  /** Of the commands that create the client. */
  environment: NodeJS.ProcessEnv;
  /** The registration of an earlier start; used again while the service has the client. */
  registration?: SamlRegistration | undefined;
}

export interface SamlApplication {
  url: string;
  registration: SamlRegistration;
  stop(): Promise<void>;
}

/** One browser's session. */
interface Session {
  /** The states of the sign-ins begun in this browser. */
  begun: Map<string, true>;
  member?: Member;
  profile?: Profile;
  /** Whether this browser was sent to the service to sign out there. */
  isLeaving?: true;
  /** A message for the next page. */
  notice?: SamlNotice;
}

/** An answer that was verified, and waits for the browser that asked. */
type Answer = { state: string } & ({ profile: Profile } | { denied: true });

const maxBegun = 10;
const maxAnswers = 100;
const rules = [
  { claim: 'displayName', from: 'name', into: ['saml'] },
  { claim: 'mail', from: 'email', into: ['saml'] },
  { claim: 'groups', from: 'groups', into: ['saml'] },
];

/** @throws the system's error when the port is taken, or that of a command that fails */
export async function startSamlApplication(options: SamlApplicationOptions): Promise<SamlApplication> {
  const { issuer } = options;
  const sessions = createSessions<Session>('LIBRARY_SESSION', () => ({ begun: new Map() }));
  const answers = new Map<string, Answer>();
  let saml: SAML;
  const { url, stop } = await listen({
    name: application,
    port: options.port,
    issuer,
    routes: {
      'GET /': home,
      'GET /metadata': metadata,
      'POST /sign-in': signIn,
      'POST /acs': consume,
      'GET /signed-in': signedIn,
      'POST /sign-out': signOut,
      'GET /signed-out': signedOut,
    },
    // the browser posts the answer from a page of the service
    fromOtherSites: ['POST /acs'],
    explain: (error) => (error instanceof Error ? error.message : String(error)),
  });
  try {
    const key = options.registration?.url === url ? options.registration : await newKey(url);
    saml = new SAML({
      issuer: `${url}/metadata`,
      callbackUrl: `${url}/acs`,
      logoutCallbackUrl: `${url}/signed-out`,
      privateKey: key.privateKey,
      publicCert: key.certificate,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      entryPoint: `${issuer}/saml/sso`,
      logoutUrl: `${issuer}/saml/logout`,
      idpIssuer: `${issuer}/saml/metadata`,
      // read for each answer: a new key is known as soon as it is published
      idpCert: (done) => void publishedCertificates(issuer).then((found) => done(null, found), done),
      audience: `${url}/metadata`,
      identifierFormat: null,
      disableRequestedAuthnContext: true,
      wantAssertionsSigned: true,
      wantAuthnResponseSigned: false,
      // an answer counts once, and only for a request of this application
      validateInResponseTo: ValidateInResponseTo.always,
    });
    const clientId = await register(options, {
      ...key,
      entityId: `${url}/metadata`,
      metadata: ownMetadata(key.certificate),
    });
    const { privateKey, certificate } = key;
    return { url, registration: { url, clientId, privateKey, certificate }, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  function ownMetadata(certificate: string): string {
    return saml.generateServiceProviderMetadata(null, certificate);
  }

  function metadata(_: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/samlmetadata+xml' });
    response.end(ownMetadata(String(saml.options.publicCert)));
  }

  function home(request: IncomingMessage, response: ServerResponse): void {
    const session = sessions.find(request);
    const notice = session?.notice;
    if (session) delete session.notice;
    send(response, 200, libraryPage({ issuer, member: session?.member, notice }));
  }

  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = sessions.find(request) ?? sessions.begin(response);
    const state = randomBytes(24).toString('base64url');
    keepAtMost(session.begun, maxBegun - 1);
    session.begun.set(state, true);
    redirect(response, await saml.getAuthorizeUrlAsync(state, undefined, {}));
  }

  /** Verifies the answer. The cookie does not come with a form of another site (SameSite=Lax): the request after it brings the cookie. */
  async function consume(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await readForm(request);
    const state = form.get('RelayState') ?? '';
    const verified = await saml.validatePostResponseAsync({ SAMLResponse: form.get('SAMLResponse') ?? '' }).then(
      ({ profile }) => ({ profile: profile! }),
      (error: unknown) => {
        // a status instead of an assertion: the user has no access, for example
        if (error instanceof SamlStatusError) return { denied: true } as const;
        throw error;
      },
    );
    const handle = randomBytes(24).toString('base64url');
    keepAtMost(answers, maxAnswers - 1);
    answers.set(handle, { state, ...verified });
    redirect(response, `/signed-in?answer=${handle}`);
  }

  function signedIn(request: IncomingMessage, response: ServerResponse, address: URL): void {
    const handle = address.searchParams.get('answer') ?? '';
    const answer = answers.get(handle);
    const session = sessions.find(request);
    answers.delete(handle);
    if (!answer || !session?.begun.delete(answer.state)) {
      const problem = 'This sign-in did not begin in this browser, or it is finished already.';
      return send(response, 400, problemPage(application, problem));
    }
    if ('denied' in answer) {
      session.notice = 'denied';
    } else {
      // a new session for the user: the old cookie no longer works
      sessions.forget(request);
      Object.assign(sessions.begin(response), { profile: answer.profile, member: memberOf(answer.profile) });
    }
    redirect(response, '/');
  }

  async function signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const profile = sessions.find(request)?.profile;
    sessions.forget(request);
    const session = sessions.begin(response);
    if (profile) session.isLeaving = true;
    redirect(response, profile ? await saml.getLogoutUrlAsync(profile, '', {}) : '/');
  }

  async function signedOut(request: IncomingMessage, response: ServerResponse, address: URL): Promise<void> {
    const session = sessions.find(request);
    if (!session?.isLeaving || !isSignedResponse(address.searchParams)) {
      const problem = 'This is no answer to a sign-out that began in this browser.';
      return send(response, 400, problemPage(application, problem));
    }
    await saml.validateRedirectAsync(Object.fromEntries(address.searchParams), address.search.slice(1));
    delete session.isLeaving;
    session.notice = 'signed-out';
    redirect(response, '/');
  }
}

/** Whether a query has a response with a signature, and each parameter once. The library also takes requests, and messages without a signature. */
function isSignedResponse(query: URLSearchParams): boolean {
  const names = [...query.keys()].sort().filter((name) => name !== 'RelayState');
  return names.join() === 'SAMLResponse,SigAlg,Signature';
}

async function newKey(url: string): Promise<Pick<SamlRegistration, 'privateKey' | 'certificate'>> {
  const { privateKey, certificate } = await makeKeyWithCertificate(new URL(url).host, new Date());
  return { privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), certificate };
}

/** Creates the client by the command that an administrator uses, from the metadata. One that exists gets the certificate, unless it has it. */
async function register(
  { environment, registration }: SamlApplicationOptions,
  own: { entityId: string; certificate: string; metadata: string },
): Promise<string> {
  const command = <T>(...args: string[]) => runCommand<T>(environment, 'client', ...args);
  const all = await command<ListedClient[]>('list', '--search', application);
  const existing = all.find(({ entity_id: id }) => id === own.entityId);
  if (existing) {
    if (existing.client_id !== registration?.clientId)
      await command('change', existing.client_id, '--certificates', own.certificate);
    return existing.client_id;
  }
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-demo-saml-'));
  try {
    const file = join(folder, 'metadata.xml');
    await writeFile(file, own.metadata);
    const given = ['--kind', 'saml', '--name', application, '--saml-metadata-file', file];
    const { client_id: id } = await command<ListedClient>('create', ...given);
    await command('change', id, '--require-signed-requests');
    await command('claims', id, ...rules.flatMap((rule) => ['--rule', JSON.stringify(rule)]));
    return id;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The certificates in the metadata of the service, which runs on this computer. */
async function publishedCertificates(issuer: string): Promise<string[]> {
  const answer = await fetch(`${issuer}/saml/metadata`, { signal: AbortSignal.timeout(10_000) });
  return [...(await answer.text()).matchAll(/X509Certificate>([^<]+)</g)].map((match) => match[1]!);
}

/** The name and the attributes that the assertion has; those that the library adds are left out. */
function memberOf(profile: Profile): Member {
  const attributes = rules.flatMap(({ claim }) => {
    const value = profile[claim];
    return value === undefined ? [] : [[claim, [value].flat().map(String)] as const];
  });
  return { nameId: profile.nameID, attributes: Object.fromEntries(attributes) };
}
