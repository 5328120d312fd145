// Sends mails, each at least once, from any instance, and tries for a day when the mail server does not accept one.
import type { Logger } from 'pino';
import { type DeliveryWorker, startDeliveryLoop, type UnderWay } from './delivery-loop.ts';
import { MailRefused, type MailTransport } from '../outbound/mail-transport.ts';
import { type MailComposition, mailDeadline } from './mail-composition.ts';
import type { Store } from '../repositories/store.ts';
import type { QueuedMail } from '../repositories/mails/mails.ts';

export interface MailDeliveryOptions {
  store: Store;
  composition: MailComposition;
  transport: MailTransport;
  logger: Logger;
}

const atOnce = 4;
const lease = 90; // seconds: longer than an attempt can take

export function startMailDelivery({ store, composition, transport, logger }: MailDeliveryOptions): DeliveryWorker {
  async function look(underWay: UnderWay): Promise<number | undefined> {
    const { givenUp, claimed, pause } = await store.transaction(async (repositories) => {
      const { mails } = repositories;
      const givenUp = await mails.giveUp(mailDeadline);
      for (const mail of givenUp) await recordEnd(repositories, mail);
      const free = atOnce - underWay.names.size;
      const claimed = free > 0 ? await mails.claim(free, lease) : [];
      return { givenUp, claimed, pause: await mails.nextPause() };
    });
    for (const mail of givenUp) logGivenUp(mail, mail.lastFailure);
    for (const mail of claimed) underWay.add(mail.id, deliver(mail));
    return pause;
  }

  async function deliver(mail: QueuedMail): Promise<void> {
    const fanOut = composition.fanOutOf(mail);
    if (fanOut)
      return store.transaction(async (repositories) => {
        // the deletion comes first, so that an identical order waits for this transaction and is not lost
        if (await repositories.mails.delete(mail.id)) await fanOut(repositories, mail);
      });
    // a later version may have stored the order: the mail waits for an instance of it
    if (!composition.knows(mail)) return retry(mail, 'this version does not know this mail');
    const composed = await composition.compose(mail);
    if (!composed) {
      await store.mails.delete(mail.id);
      logger.debug({ mail: mail.name, sub: mail.sub }, 'a mail no longer has a recipient and is not sent');
      return;
    }
    try {
      await transport.send(composed.letter);
    } catch (error) {
      if (!(error instanceof MailRefused)) throw error;
      return error.permanent ? giveUp(mail, error.message) : retry(mail, error.message);
    }
    const { purpose } = composed;
    await store.transaction(async ({ mails, auditEvents }) => {
      if (!(await mails.delete(mail.id)) || purpose === undefined) return;
      await auditEvents.insert({
        ...{ type: 'link.sent', outcome: 'success', actor: 'service', sub: mail.sub },
        detail: { purpose },
      });
    });
    const line = { mail: mail.name, sub: mail.sub, to: transport.kind };
    if (transport.kind === 'smtp') logger.info(line, 'mail sent');
    else logger.info({ ...line, folder: transport.place }, 'mail written to a folder, since SMTP_URL is not set');
  }

  async function retry(mail: QueuedMail, reason: string): Promise<void> {
    const pause = await store.mails.fail(mail.id, reason);
    logger.warn({ ...facts(mail), reason, pause }, 'mail not sent; it will be tried again');
  }

  async function giveUp(mail: QueuedMail, reason: string): Promise<void> {
    await store.transaction(async (repositories) => {
      if (await repositories.mails.delete(mail.id)) await recordEnd(repositories, mail);
    });
    logGivenUp(mail, reason);
  }

  const logGivenUp = (mail: QueuedMail, reason: string | undefined) =>
    logger.warn({ ...facts(mail), reason }, 'a mail could not be sent and is given up');

  return startDeliveryLoop({
    look,
    failures: { look: 'pending mails could not be read', work: 'a mail could not be recorded' },
    logger,
  });
}

const facts = ({ name, sub, attempts }: QueuedMail) => ({ mail: name, sub, attempts });

async function recordEnd({ auditEvents }: Pick<Store, 'auditEvents'>, mail: QueuedMail): Promise<void> {
  await auditEvents.insert({
    ...{ type: 'mail.given_up', outcome: 'failure', actor: 'service', sub: mail.sub, clientId: mail.clientId },
    detail: { mail: mail.name, attempts: mail.attempts },
  });
}
