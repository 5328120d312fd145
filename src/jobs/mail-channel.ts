// Sends the mails in the outbox, each at least once, and tries for a day when the mail server does not accept one.
import type { Logger } from 'pino';
import { MailRefused, type MailTransport } from '../outbound/mail-transport.ts';
import type { OutboxRow } from '../repositories/outbox/outbox.ts';
import type { Store } from '../repositories/store.ts';
import { type MailComposition, mailDeadline } from './mail-composition.ts';
import type { Channel, Failure } from './channel.ts';
import { outboxQueue } from './outbox.ts';

export interface MailChannelOptions {
  store: Store;
  composition: MailComposition;
  transport: MailTransport;
  logger: Logger;
}

export function mailChannel({ store, composition, transport, logger }: MailChannelOptions): Channel<OutboxRow> {
  async function deliver(row: OutboxRow): Promise<Omit<Failure<OutboxRow>, 'row'> | undefined> {
    const successors = await composition.fanOut(row);
    if (successors) {
      await store.transaction(async (repositories) => {
        // the deletion comes first, so that an identical row waits for this transaction and is not lost
        if (await repositories.outbox.delete(row.id)) await successors(repositories);
      });
      return undefined;
    }
    // a later version may have stored the row: the mail waits for an instance of it
    if (!composition.knows(row)) return { reason: 'this version does not know this mail' };
    const composed = await composition.compose(row);
    if (!composed) {
      await store.outbox.delete(row.id);
      logger.debug({ mail: row.name, sub: row.sub }, 'a mail no longer has a recipient and is not sent');
      return undefined;
    }
    try {
      await transport.send(composed.letter);
    } catch (error) {
      if (!(error instanceof MailRefused)) throw error;
      return { reason: error.message, isPermanent: error.permanent };
    }
    const { purpose } = composed;
    await store.transaction(async ({ outbox, auditEvents }) => {
      if (!(await outbox.delete(row.id)) || purpose === undefined) return;
      await auditEvents.insert({
        type: 'link.sent',
        outcome: 'success',
        actor: 'service',
        sub: row.sub,
        detail: { purpose },
      });
    });
    const line = { mail: row.name, sub: row.sub, to: transport.kind };
    if (transport.kind === 'smtp') logger.info(line, 'mail sent');
    else
      logger.info({ ...line, folder: transport.place }, 'mail not sent, but written to a folder: SMTP_URL is not set');
    return undefined;
  }

  return {
    name: 'mail',
    queue: outboxQueue(store, { name: 'mail', parallel: 4, batch: 1, lease: 90, deadline: mailDeadline }),
    async handle([row]) {
      const failure = await deliver(row!);
      return failure ? [{ row: row!, ...failure }] : [];
    },
    async recordEnd({ auditEvents }, { name, sub, clientId, attempts }) {
      await auditEvents.insert({
        type: 'mail.given_up',
        outcome: 'failure',
        actor: 'service',
        sub,
        clientId,
        detail: { mail: name, attempts },
      });
    },
    facts: ({ name, sub, attempts }) => ({ mail: name, sub, attempts }),
    messages: {
      failed: 'mail not sent; will retry',
      givenUp: 'a mail could not be sent and is given up',
      unread: 'pending mails could not be read',
      unrecorded: 'a mail could not be recorded',
    },
  };
}
