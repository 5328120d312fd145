// Sends mails by SMTP to the configured server, or without one writes each into a file of a folder.
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { makeFolder } from '../config/data-dir.ts';

/** A mail: one recipient, and the same content as text and as HTML. */
export interface Letter {
  /** Unique: the part of Message-ID before the at sign. */
  id: string;
  to: string;
  /** Names the sender, unless MAIL_FROM does. */
  product: string;
  subject: string;
  text: string;
  html: string;
  /** A PNG that the HTML shows as `cid:logo`. */
  logo?: Buffer | undefined;
}

/** Where it failed: at the name or the connection of the server, the encryption, the credentials, this mail, or the folder. */
export const mailFailures = ['name', 'connection', 'tls', 'credentials', 'mail', 'folder'] as const;
export type MailFailure = (typeof mailFailures)[number];

/** The mail was not accepted. `permanent`: no later attempt can succeed. The message is for the log and contains no secret. */
export class MailRefused extends Error {
  readonly failure: MailFailure;
  readonly permanent: boolean;
  constructor(message: string, failure: MailFailure, permanent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
    this.permanent = permanent;
  }
}

export interface MailTransport {
  kind: 'smtp' | 'folder';
  /** Host and port of the server, or the folder: for the log. */
  place: string;
  /** @throws MailRefused */
  send(letter: Letter): Promise<void>;
  /** Connects to the server and signs in, and sends nothing. @throws MailRefused */
  check(): Promise<void>;
}

interface MailTransportOptions {
  folder: string;
  /** "Name <address>" */
  from: string | undefined;
  /** The issuer's host: the part of Message-ID after the at sign. */
  host: string;
}

/** Loaded with the first mail: most instances send none. */
const library = () => import('nodemailer');

const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 15_000, dnsTimeout: 10_000 };

export function createMailTransport({
  smtpUrl,
  dataDir,
  mailFrom: from,
  issuer,
}: Pick<Config, 'smtpUrl' | 'dataDir' | 'mailFrom' | 'issuer'>): MailTransport {
  const options = { folder: join(dataDir, 'mail'), from, host: new URL(issuer).hostname };
  return smtpUrl === undefined ? intoFolder(options) : bySmtp(options, new URL(smtpUrl));
}

function bySmtp(options: MailTransportOptions, url: URL): MailTransport {
  const secure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (secure ? 465 : 587);
  const loopback = /^(localhost|127(\.\d+){3}|::1)$/i.test(host);
  const open = async () =>
    (await library()).createTransport({
      host,
      port,
      secure,
      // a password or a link is never sent unencrypted, except to this machine
      requireTLS: !secure && !loopback,
      ignoreTLS: !secure && loopback,
      tls: { minVersion: 'TLSv1.2' },
      ...(url.username !== '' && {
        auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
      }),
      disableFileAccess: true,
      disableUrlAccess: true,
      ...timeouts,
    });
  let transport: ReturnType<typeof open> | undefined;
  return {
    kind: 'smtp',
    place: `${host}:${port}`,
    async send(letter) {
      const message = messageOf(letter, options);
      try {
        await (await (transport ??= open())).sendMail(message);
      } catch (error) {
        throw refusal(error);
      }
    },
    async check() {
      try {
        await (await open()).verify();
      } catch (error) {
        throw refusal(error);
      }
    },
  };
}

function intoFolder(options: MailTransportOptions): MailTransport {
  const { folder } = options;
  return {
    kind: 'folder',
    place: folder,
    check: () => Promise.resolve(),
    async send(letter) {
      const transport = (await library()).createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
      const { message } = await transport.sendMail(messageOf(letter, options));
      const name = `${new Date().toISOString().replace(/[:.]/g, '-')}-${letter.id}.eml`;
      try {
        makeFolder(folder);
        // the rename makes the mail appear whole; only the service may read it, since it contains links
        await writeFile(join(folder, `.${name}`), message as Buffer, { mode: 0o600 });
        await rename(join(folder, `.${name}`), join(folder, name));
      } catch (error) {
        throw new MailRefused(error instanceof Error ? error.message : String(error), 'folder', false, {
          cause: error,
        });
      }
    },
  };
}

/** @throws MailRefused for a recipient that is not one address */
function messageOf({ id, to, product, subject, text, html, logo }: Letter, { from, host }: MailTransportOptions) {
  // an address that an operator stored by SQL is not validated yet
  if (!/^[^\s\p{Cc}<>(),;:"\\@[\]]{1,64}@[^\s\p{Cc}<>(),;:"\\@]{1,255}$/u.test(to))
    throw new MailRefused('the recipient is not a mail address', 'mail', true);
  return {
    from: from ?? { name: product, address: `no-reply@${host.replace(/^\[|\]$/g, '')}` },
    to: { name: '', address: to },
    subject: subject.replace(/\p{Cc}+/gu, ' '),
    text,
    html,
    ...(logo && {
      attachments: [
        {
          cid: 'logo',
          filename: 'logo.png',
          contentType: 'image/png',
          content: logo,
          contentDisposition: 'inline' as const,
        },
      ],
    }),
    messageId: `<${id}@${host}>`,
    // RFC 3834 5: automatic responders do not answer
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** By the codes of the library. */
const failures: Partial<Record<string, MailFailure>> = {
  EDNS: 'name',
  ENOTFOUND: 'name',
  ETLS: 'tls',
  EAUTH: 'credentials',
  ENOAUTH: 'credentials',
  EENVELOPE: 'mail',
  EMESSAGE: 'mail',
};

/** The reason in one line for an administrator, without links and, after refused credentials, without the server's text, which may repeat them. */
function refusal(error: unknown): MailRefused {
  const { code, responseCode, command } = error as { code?: string; responseCode?: number; command?: string };
  const words = error instanceof Error ? error.message.replace(/\p{Cc}+/gu, ' ').replace(/https?:\S+/g, '…') : '';
  // the server refuses this mail for good (RFC 5321 4.2.1); other refusals can be corrected
  const permanent = (code === 'EENVELOPE' || code === 'EMESSAGE') && (responseCode ?? 0) >= 500;
  const reason = code === 'EAUTH' ? `the mail server rejected the credentials (${responseCode ?? command})` : words;
  return new MailRefused(reason.slice(0, 300), failures[code ?? ''] ?? 'connection', permanent);
}
