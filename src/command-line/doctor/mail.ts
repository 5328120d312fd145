// Checks mail: whether the server accepts this service, without sending anything, and whether its domain lets it send.
import { Resolver } from 'node:dns/promises';
import { createMailTransport, type MailFailure, MailRefused } from '../../outbound/mail-transport.ts';
import { check, fault, ok, warning } from './check.ts';

interface SeenMail {
  kind: 'smtp' | 'folder';
  place: string;
  /** Whether the command has the credentials of the service. */
  hasCredentials: boolean;
  refused: { failure: MailFailure; reason: string } | undefined;
}

const remedies: Record<MailFailure, string> = {
  name: 'Correct the host in SMTP_URL.',
  connection: 'Correct the host and the port in SMTP_URL, and open the firewall to it.',
  tls: 'Use a mail server with a certificate that is trusted here; smtps:// is TLS from the start, smtp:// is STARTTLS.',
  credentials: 'Correct the user name and the password in SMTP_URL, percent-encoded.',
  mail: 'Look at the log of the mail server.',
  folder: 'Make the folder writable.',
};

export const mail = check<SeenMail>('mail', {
  async look({ config, hasMailServer }) {
    const transport = createMailTransport(config);
    const refused = await transport.check().then(
      () => undefined,
      (error: unknown) => {
        if (!(error instanceof MailRefused)) throw error;
        return { failure: error.failure, reason: error.message };
      },
    );
    return { kind: transport.kind, place: transport.place, hasCredentials: hasMailServer, refused };
  },
  judge({ kind, place, hasCredentials, refused }) {
    if (kind === 'folder')
      return [
        warning(
          `SMTP_URL is unset: mails are only written to ${place}`,
          'Set SMTP_URL and MAIL_FROM, and try them: bin/gatehouse mail test --user NAME',
        ),
      ];
    if (refused) return [fault(`${place} is not usable: ${refused.reason}`, remedies[refused.failure])];
    return [ok(`${place} answers${hasCredentials ? '' : ', asked without the credentials, which this shell lacks'}`)];
  },
});

interface SeenSender {
  /** Undefined where no mail is sent, or the domain is none of the public ones. */
  domain: string | undefined;
  /** The SPF records, or the code of a failed look-up. */
  records: string[] | string;
}

/** RFC 7208 4.5: a domain has one such record. */
export const sender = check<SeenSender>('sender', {
  async look({ config }) {
    const host = new URL(config.issuer).hostname;
    const domain = (/@([^\s>]+)>?$/.exec(config.mailFrom ?? '')?.[1] ?? host).toLowerCase();
    const isPublic = /\.[a-z][a-z0-9-]+$/.test(domain) && !/\.(local|lan|internal|test|home\.arpa)$/.test(domain);
    if (config.smtpUrl === undefined || !isPublic) return { domain: undefined, records: [] };
    const resolver = new Resolver({ timeout: 2_000, tries: 1 });
    const records = await resolver.resolveTxt(domain).then(
      (found) => found.map((parts) => parts.join('')).filter((text) => /^v=spf1( |$)/i.test(text)),
      (error: NodeJS.ErrnoException) => (error.code === 'ENODATA' ? [] : (error.code ?? 'no code')),
    );
    return { domain, records };
  },
  judge({ domain, records }) {
    if (domain === undefined) return [];
    if (typeof records === 'string')
      return [
        warning(
          `the DNS of ${domain}, the domain of the sender, gives no answer (${records})`,
          'Correct MAIL_FROM, or the DNS of this machine. Other mail servers refuse mail of a domain that they cannot find.',
        ),
      ];
    if (records.length === 0)
      return [
        warning(
          `${domain}, the domain of the sender, has no SPF record`,
          `Publish one that names your mail server, such as: ${domain} TXT "v=spf1 mx -all". Otherwise mails are taken for spam.`,
        ),
      ];
    if (records.length > 1)
      return [
        warning(`${domain} has ${records.length} SPF records`, 'Join them: with two, neither counts (RFC 7208 4.5).'),
      ];
    if (/[+?]all\b/.test(records[0]!))
      return [warning(`the SPF record of ${domain} lets every server send`, 'End it with -all or ~all.')];
    return [ok(`${domain} has an SPF record`)];
  },
});
