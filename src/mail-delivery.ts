// Sends what is ordered: at least once, on whichever instance gets to it, and for a day if the mail server does not take it.
import type { Logger } from 'pino';
import { MailRefused, type MailTransport } from './mail/transport.ts';
import type { MailComposition } from './mail-composition.ts';
import type { Store } from './repositories/index.ts';
import type { QueuedMail } from './repositories/mails.ts';

export interface MailDeliveryOptions {
  store: Store;
  composition: MailComposition;
  transport: MailTransport;
  logger: Logger;
}

export interface MailDeliveryWorker {
  /** Something may be due. */
  wake(): void;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

const atOnce = 4;
const lease = 90; // seconds: longer than an attempt can take
const patience = 86_400; // seconds after which a mail is given up
const interval = 10_000; // milliseconds: the lease of a dead instance ends without a word

export function startMailDelivery({ store, composition, transport, logger }: MailDeliveryOptions): MailDeliveryWorker {
  const busy = new Set<Promise<void>>();
  let stopped = false;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let pauseEnd: NodeJS.Timeout | undefined;

  function wake(): void {
    if (stopped) return;
    if (looking) {
      lookAgain = true;
      return;
    }
    looking = look()
      .catch((error: unknown) => {
        if (!stopped) logger.warn({ err: error }, 'what waits of mail could not be read');
      })
      .finally(() => {
        looking = undefined;
        if (lookAgain) wake();
      });
    lookAgain = false;
  }

  async function look(): Promise<void> {
    const { givenUp, claimed, pause } = await store.transaction(async (repositories) => {
      const { mails } = repositories;
      const givenUp = await mails.giveUp(patience);
      for (const mail of givenUp) await recordEnd(repositories, mail);
      const room = atOnce - busy.size;
      const claimed = room > 0 ? await mails.claim(room, lease) : [];
      return { givenUp, claimed, pause: await mails.nextPause() };
    });
    clearTimeout(pauseEnd);
    if (pause !== undefined && !stopped) pauseEnd = setTimeout(wake, pause * 1000 + 1);
    for (const mail of givenUp) logGivenUp(mail, mail.lastFailure);
    for (const mail of claimed) {
      const done: Promise<void> = deliver(mail)
        .catch((error: unknown) => logger.warn({ err: error }, 'a mail could not be recorded'))
        .finally(() => {
          busy.delete(done);
          wake();
        });
      busy.add(done);
    }
  }

  async function deliver(mail: QueuedMail): Promise<void> {
    const expand = composition.expansionOf(mail);
    if (expand)
      return store.transaction(async (repositories) => {
        // first, so that whoever orders the same again waits, and is seen
        if (await repositories.mails.delete(mail.id)) await expand(repositories, mail);
      });
    const composed = await composition.compose(mail);
    if (!composed) {
      await store.mails.delete(mail.id);
      logger.debug({ mail: mail.name, sub: mail.sub }, 'a mail concerns nobody and is not sent');
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
    logger.warn({ ...facts(mail), reason, pause }, 'mail not sent; it is tried again');
  }

  async function giveUp(mail: QueuedMail, reason: string): Promise<void> {
    await store.transaction(async (repositories) => {
      if (await repositories.mails.delete(mail.id)) await recordEnd(repositories, mail);
    });
    logGivenUp(mail, reason);
  }

  const logGivenUp = (mail: QueuedMail, reason: string | undefined) =>
    logger.warn({ ...facts(mail), reason }, 'a mail could not be sent and is given up');

  const timer = setInterval(wake, interval);
  return {
    wake,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await looking;
      clearTimeout(pauseEnd);
      await Promise.all(busy);
    },
  };
}

const facts = ({ name, sub, attempts }: QueuedMail) => ({ mail: name, sub, attempts });

async function recordEnd({ auditEvents }: Pick<Store, 'auditEvents'>, mail: QueuedMail): Promise<void> {
  await auditEvents.insert({
    ...{ type: 'mail.given_up', outcome: 'failure', actor: 'service', sub: mail.sub, clientId: mail.clientId },
    detail: { mail: mail.name, attempts: mail.attempts },
  });
}
