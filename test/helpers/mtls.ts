// Makes certificates of clients, good ones and crafted ones, and sends requests with them: by TLS, or as a proxy passes them on (RFC 8705, RFC 9440).
import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer } from './grants.ts';

export interface TestCertificate {
  certificate: string;
  key: string;
  /** Base64url SHA-256 of the DER bytes. */
  x5t: string;
  der: Buffer;
  /** The public key as a client registers it. */
  jwk: Record<string, unknown>;
  /** The files, for clients such as curl. */
  files: { certificate: string; key: string };
}

export interface CertificateOptions {
  /** As openssl takes it: /C=DE/O=Example/CN=app. */
  subject?: string;
  /** Lines such as DNS:app.example. */
  alternatives?: string[];
  /** Days from now on at which it begins and ends. */
  from?: number;
  to?: number;
  /** Whether it is for clients; else it is for servers. */
  forClients?: boolean;
  /** The openssl options for the key. */
  newKey?: string[];
  /** The form of the strings of the subject. */
  stringMask?: 'utf8only' | 'default' | 'pkix';
  /** The key of another certificate, instead of a new one. */
  keyOf?: TestCertificate;
}

export interface TestAuthority {
  /** The file with its certificate. */
  file: string;
  sign(options?: CertificateOptions): TestCertificate;
}

const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
const dayMilliseconds = 86_400_000;

/** A folder for the authorities and certificates of a test; call `remove` at its end. */
export function createCertificateFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mtls-'));
  let count = 0;

  function openssl(cwd: string, ...options: string[]): void {
    execFileSync('openssl', options, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  }

  /** Subject and key of a request for a certificate. */
  function requestFor(cwd: string, name: string, options: CertificateOptions): void {
    const { subject = '/CN=app', newKey = ecKey, stringMask = 'utf8only', keyOf } = options;
    const config = `[req]\nprompt=no\ndistinguished_name=dn\nstring_mask=${stringMask}\nutf8=yes\n[dn]\nCN=unused\n`;
    writeFileSync(join(cwd, `${name}.req`), config);
    const key = keyOf ? ['-key', keyOf.files.key] : [...newKey, '-nodes', '-keyout', `${name}.key`];
    const common = ['-new', '-utf8', '-config', `${name}.req`, '-subj', subject];
    openssl(cwd, 'req', ...common, ...key, '-out', `${name}.csr`);
    if (keyOf) writeFileSync(join(cwd, `${name}.key`), keyOf.key);
  }

  function read(cwd: string, name: string): TestCertificate {
    const files = { certificate: join(cwd, `${name}.pem`), key: join(cwd, `${name}.key`) };
    const certificate = readFileSync(files.certificate, 'utf8');
    const { raw: der } = new X509Certificate(certificate);
    const key = readFileSync(files.key, 'utf8');
    const jwk = createPublicKey(key).export({ format: 'jwk' }) as Record<string, unknown>;
    return { certificate, key, der, jwk, files, x5t: createHash('sha256').update(der).digest('base64url') };
  }

  /** An authority with a folder and a database of its own. */
  function newAuthority(subject = '/CN=Test authority'): TestAuthority {
    const cwd = join(folder, `authority-${++count}`);
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'index.txt'), '');
    writeFileSync(join(cwd, 'serial'), '01\n');
    const policy = 'CN,C,O,OU,ST,L,DC,UID,emailAddress,serialNumber,organizationIdentifier'
      .split(',')
      .map((type) => `${type}=optional`)
      .join('\n');
    const settings = [
      'certificate=ca.pem',
      'private_key=ca.key',
      'database=index.txt',
      'serial=serial',
      'new_certs_dir=.',
      'default_md=sha256',
      'unique_subject=no',
      'policy=policy',
    ].join('\n');
    writeFileSync(join(cwd, 'ca.cnf'), `[ca]\ndefault_ca=own\n[own]\n${settings}\n[policy]\n${policy}\n`);
    openssl(
      cwd,
      'req',
      '-x509',
      ...ecKey,
      '-nodes',
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-days',
      '30',
      '-subj',
      subject,
    );
    return {
      file: join(cwd, 'ca.pem'),
      sign(options = {}) {
        const name = `certificate-${++count}`;
        requestFor(cwd, name, options);
        const { alternatives = [], forClients = true, from = -1, to = 1 } = options;
        const names = alternatives.length > 0 ? `subjectAltName=${alternatives.join(',')}\n` : '';
        writeFileSync(
          join(cwd, `${name}.ext`),
          `extendedKeyUsage=${forClients ? 'clientAuth' : 'serverAuth'}\n${names}`,
        );
        const dates = ['-startdate', timeOf(from), '-enddate', timeOf(to)];
        const files = ['-in', `${name}.csr`, '-out', `${name}.pem`, '-extfile', `${name}.ext`];
        openssl(cwd, 'ca', '-config', 'ca.cnf', '-batch', '-notext', '-preserveDN', '-utf8', ...files, ...dates);
        return read(cwd, name);
      },
    };
  }

  /** A certificate that its own key signs. */
  function selfSigned({
    subject = '/CN=app',
    newKey = ecKey,
    keyOf,
    to = 1,
  }: CertificateOptions = {}): TestCertificate {
    const name = `self-${++count}`;
    const key = keyOf ? ['-key', keyOf.files.key] : [...newKey, '-nodes', '-keyout', `${name}.key`];
    openssl(folder, 'req', '-x509', '-utf8', ...key, '-out', `${name}.pem`, '-days', String(to), '-subj', subject);
    if (keyOf) writeFileSync(join(folder, `${name}.key`), keyOf.key);
    return read(folder, name);
  }

  return { folder, newAuthority, selfSigned, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** As openssl writes a time. */
const timeOf = (days: number): string =>
  new Date(Date.now() + days * dayMilliseconds).toISOString().replace(/[-:T]|\.\d+/g, '');

/** The header Client-Cert (RFC 9440 2.2). */
export const clientCert = ({ der }: TestCertificate): string => `:${der.toString('base64')}:`;
/** As nginx writes $ssl_client_escaped_cert. */
export const escapedPem = ({ certificate }: TestCertificate): string => encodeURIComponent(certificate);

export interface Sent {
  method?: string;
  headers?: Record<string, string | string[]>;
  /** Form parameters: the method is then POST. */
  form?: Record<string, string>;
  json?: unknown;
  token?: string;
  /** Of the TLS connection. */
  certificate?: TestCertificate;
  /** The file with the authority of the server's certificate. */
  ca?: string;
  /** From which address of the loopback it is sent. */
  from?: string;
  tls?: { maxVersion?: 'TLSv1.2' | 'TLSv1.3' | 'TLSv1.1'; minVersion?: 'TLSv1.1' | 'TLSv1.2'; ciphers?: string };
}

/** Sends one request, on a connection of its own. */
export async function send(url: string, sent: Sent = {}): Promise<Answer & { text: string; protocol?: string }> {
  const { form, token, certificate, ca, from, tls } = sent;
  const body = form
    ? new URLSearchParams(form).toString()
    : sent.json === undefined
      ? undefined
      : JSON.stringify(sent.json);
  const options = {
    method: sent.method ?? (form ? 'POST' : 'GET'),
    agent: false as const,
    ...(from !== undefined && { localAddress: from }),
    headers: {
      ...(body !== undefined && {
        'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
        'content-length': Buffer.byteLength(body),
      }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...sent.headers,
    },
  };
  const isSecure = url.startsWith('https:');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = isSecure
    ? httpsRequest(
        url,
        {
          ...options,
          ...tls,
          ...(ca !== undefined && { ca: readFileSync(ca) }),
          ...(certificate && { cert: certificate.certificate, key: certificate.key }),
        },
        resolve,
      )
    : httpRequest(url, options, resolve);
  request.on('error', reject);
  request.end(body);
  const response = await promise;
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const isJson = /json/.test(response.headers['content-type'] ?? '');
  return {
    status: response.statusCode!,
    headers: new Headers(
      Object.entries(response.headers).flatMap(([name, value]) =>
        [value ?? []].flat().map((each): [string, string] => [name, each]),
      ),
    ),
    text,
    body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}
