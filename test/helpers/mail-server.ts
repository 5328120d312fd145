// Plays a mail server: accepts every mail, and can refuse, hang or be down; and reads a folder of mails.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { vi } from 'vitest';
import { observe } from './dump-search.ts';

const waiting = { timeout: 10_000, interval: 10 };

export interface ReceivedMail {
  /** The recipient of the envelope. */
  to: string[];
  parsed: ParsedMail;
  text: string;
  html: string;
  /** The address with a token in the mail, if there is one. */
  link: string | undefined;
}

export class MailServer {
  readonly mails: ReceivedMail[] = [];
  /** Recipients that the server refuses for good, and those that it refuses for now. */
  readonly unknown = new Set<string>();
  private server: SMTPServer | undefined;
  port = 0;

  async start(): Promise<void> {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onAuth: ({ password }, _session, done) =>
        password === 'let me in' ? done(null, { user: 'gatehouse' }) : done(new Error('no')),
      onRcptTo: ({ address }, _session, done) =>
        done(this.unknown.has(address) ? Object.assign(new Error('no such mailbox'), { responseCode: 550 }) : null),
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const to = session.envelope.rcptTo.map(({ address }) => address);
          void readMail(Buffer.concat(chunks), to).then((mail) => {
            this.mails.push(mail);
            done();
          });
        });
      },
    });
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.server.address() as AddressInfo).port;
    this.server = server;
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  /** The mails to an address, once there are as many. */
  async to(address: string, count = 1): Promise<ReceivedMail[]> {
    const found = () => this.mails.filter((mail) => mail.to.includes(address));
    await vi.waitUntil(() => found().length >= count, waiting);
    return found();
  }

  /** The newest mail to an address with this subject, once it has arrived. */
  async find(address: string, subject: RegExp): Promise<ReceivedMail> {
    const found = () =>
      this.mails.findLast((mail) => mail.to.includes(address) && subject.test(mail.parsed.subject ?? ''));
    await vi.waitUntil(() => found() !== undefined, waiting);
    return found()!;
  }
}

export async function readMail(source: Buffer, to: string[] = []): Promise<ReceivedMail> {
  const parsed = await simpleParser(source);
  const text = parsed.text ?? '';
  const html = parsed.html || '';
  observe(`${text}${html}`);
  const link = /https?:\/\/\S*\?token=\S+/.exec(text)?.[0];
  return { to, parsed, text, html, link };
}

/** The mails in the folder of a service without a mail server, the oldest first. */
export async function mailsIn(dataDir: string): Promise<(ReceivedMail & { file: string })[]> {
  const folder = join(dataDir, 'mail');
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.eml') && !name.startsWith('.'))
    .sort();
  return Promise.all(
    files.map(async (name) => ({ file: join(folder, name), ...(await readMail(readFileSync(join(folder, name)))) })),
  );
}
