// Declares the operation that sends a test mail to an administrator, and says at once whether the mail server accepted it.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { conflict, notFound, OAuthError } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { type MailFailure, MailRefused } from '../../outbound/mail-transport.ts';
import { operation } from './operation.ts';

const plain = {
  product: 'Gatehouse',
  subject: 'Test email from Gatehouse',
  text: 'This is a test email. The mail settings of Gatehouse work.\n',
  html: '<p>This is a test email. The mail settings of Gatehouse work.</p>',
};

const sentences: Record<MailFailure, string> = {
  name: 'the host in SMTP_URL was not found',
  connection: 'the mail server did not answer, or ended the connection',
  tls: 'the mail server offers no encryption that can be trusted',
  credentials: 'the mail server refused the user name or the password in SMTP_URL',
  mail: 'the mail server refused the email',
  folder: 'the email could not be written to the folder mail of DATA_DIR',
};

/** The mail was not sent: `failure` names the cause for pages. */
export class TestMailFailed extends OAuthError {
  readonly failure: MailFailure;
  readonly reason: string;
  constructor({ failure, message }: MailRefused) {
    super('temporarily_unavailable', `${sentences[failure]} (${message})`, 503);
    this.failure = failure;
    this.reason = message;
  }
}

export const sendTestMail = operation({
  permission: 'settings',
  method: 'POST',
  path: '/admin/api/mail/test',
  tag: 'mail',
  summary: 'Sends a test email to an administrator, the signed-in one unless it names another, and reports the result',
  input: () =>
    z.strictObject({ sub: text(255).optional().describe('The administrator; the signed-in one if missing.') }),
  answer: 'TestMail',
  async handler(context, { input: { sub }, actor }) {
    const { store, limits, mailTransport, composeTestMail = () => plain } = context;
    const user = await store.users.find(sub ?? actor.actor);
    if (!user) throw notFound('there is no such user: name an administrator in sub');
    if (!user.admin)
      throw notFound(`the user ${user.username} is no administrator: test emails go to administrators only`);
    const { email: to } = user;
    if (to === undefined) throw conflict('the administrator has no email address: add one to the account first');
    const wait = await limits.consume('mailedLinks', `test ${user.sub}`);
    if (wait > 0)
      throw new OAuthError('temporarily_unavailable', `too many test emails: try again in ${wait} seconds`, 429, {
        headers: { 'retry-after': String(wait) },
      });
    const locale = user.claims['locale'];
    const event = { ...actor, type: 'mail.tested', sub: user.sub } as const;
    try {
      const content = composeTestMail(typeof locale === 'string' ? locale : undefined);
      await mailTransport.send({ id: randomUUID(), to, ...content });
    } catch (error) {
      if (!(error instanceof MailRefused)) throw error;
      const detail = { reason: error.message, server: mailTransport.place };
      await store.auditEvents.insert({ ...event, outcome: 'failure', detail });
      throw new TestMailFailed(error);
    }
    await store.auditEvents.insert({ ...event, outcome: 'success', detail: { server: mailTransport.place } });
    return { to, server: mailTransport.place };
  },
  command: {
    name: 'mail test',
    summary: 'Sends a test email to an administrator, and reports the answer of the mail server',
    options: { user: 'sub' },
    required: ['sub'],
    text: ({ to, server }) => `A test email to ${to} is on its way by ${server}.`,
  },
});

export const mailOperations = [sendTestMail];
