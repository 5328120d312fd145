// Serves the console's pages about webhooks: those of every entity, a page of its own for one with its deliveries, and the forms on it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type MadeSecret, webhookSecrets } from '../../../domain/administration/webhooks.ts';
import { type Webhook, webhooks } from '../../../entities/webhooks.ts';
import { conflict, invalidRequest } from '../../../oauth/errors.ts';
import type { Pages } from '../../../pages/views/index.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { Operation } from '../../operations/operation.ts';
import {
  addWebhookSecret,
  listWebhookDeliveries,
  removeWebhookSecret,
  replayWebhookEvent,
  webhookActs,
} from '../../operations/webhooks.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { entityPages } from '../entity-pages.ts';
import { submittedForms } from '../submitted-form.ts';

const section = 'webhooks';
const pageSize = 50;
const uriOf = (id: string) => `/admin/webhooks/${encodeURIComponent(id)}`;
const secretsUri = (id: string) => `${uriOf(id)}/secrets`;
const removeUri = (id: string) => `${secretsUri(id)}/remove`;
const replayUri = (id: string) => `${uriOf(id)}/replay`;

const showSecret = (admin: AdminSession, { id, name }: Pick<Webhook, 'id' | 'name'>, made: MadeSecret): FastifyReply =>
  admin.send('console-webhook-secret', { name, uri: uriOf(id), id: made.id, secret: made.secret }, { section });

type Shown = Pages['console-webhook'];

async function deliveriesOf(admin: AdminSession, id: string): Promise<Pick<Shown, 'deliveries' | 'first' | 'next'>> {
  const { cursor } = singleValued(admin.request.query);
  const found = await admin.run(listWebhookDeliveries, { webhook: id }, { limit: pageSize, cursor });
  const { next_cursor: next } = listWebhookDeliveries.view(found) as { next_cursor?: string };
  return {
    deliveries: found.deliveries.map((one) => ({
      event: one.eventId,
      type: one.type,
      status: one.status,
      attempts: one.attempts,
      ...(one.answer && { answer: one.answer }),
      ...(one.lastFailure !== undefined && one.status !== 'delivered' && { failure: one.lastFailure }),
      createdAt: one.createdAt,
      ...(one.nextAttemptAt && { nextAt: one.nextAttemptAt }),
      eventUri: `/admin/audit/${one.eventId}`,
    })),
    ...(cursor && { first: uriOf(id) }),
    ...(next !== undefined && { next: `${uriOf(id)}?${new URLSearchParams({ cursor: next })}` }),
  };
}

function secretsOf(webhook: Webhook): Shown['secrets'] {
  const since = { secret: webhook.secretSince, second_secret: webhook.secondSecretSince };
  const isSet = { secret: webhook.secretEncrypted, second_secret: webhook.secondSecretEncrypted };
  return webhookSecrets
    .filter((id) => isSet[id] !== undefined)
    .map((id) => ({ id, ...(since[id] && { since: since[id] }) }));
}

export const webhookPages = entityPages(webhooks, webhookActs, {
  known: ({ url }) => url,
  made: (admin, { id, name, newSecret }: Webhook & { newSecret?: string }) =>
    newSecret === undefined
      ? admin.done(uriOf(id), 'webhook-made')
      : showSecret(admin, { id, name }, { id: 'secret', secret: newSecret }),
  async show(admin, webhook, uris) {
    const { id, name, url, events, status, waiting, failingSince, createdAt } = webhook;
    const secrets = secretsOf(webhook);
    return admin.send(
      'console-webhook',
      {
        webhook: {
          id,
          name,
          url,
          events,
          isEnabled: status === 'enabled',
          waiting,
          ...(failingSince && { failingSince }),
          createdAt,
        },
        secrets,
        ...(secrets.length < webhookSecrets.length
          ? { secretForm: admin.form(secretsUri(id)) }
          : { removeForm: admin.form(removeUri(id)) }),
        ...(await deliveriesOf(admin, id)),
        replayForm: admin.form(replayUri(id)),
        ...uris,
      },
      { section },
    );
  },
});

/** The forms on the page of a webhook. */
export async function webhookForms(app: FastifyInstance, { console }: { console: Console }): Promise<void> {
  const submitted = submittedForms(console);
  /** @param action where the form is, by the id of its webhook */
  function form<P, I, R>(
    path: string,
    action: (id: string) => string,
    needs: Operation<P, I, R>,
    act: (admin: AdminSession, webhook: Webhook, body: Record<string, string | undefined>) => Promise<FastifyReply>,
  ): void {
    app.post(path, async (request: FastifyRequest, reply) => {
      const { webhook: id } = request.params as { webhook: string };
      const sent = await submitted(request, reply, action(id), needs);
      if (!sent) return reply;
      const { admin, body } = sent;
      return act(admin, await admin.run(webhookActs.show, { webhook: id }), body);
    });
  }

  form('/admin/webhooks/:webhook/secrets', secretsUri, addWebhookSecret, async (admin, { id, name }) => {
    const made = await admin.once(() => admin.run(addWebhookSecret, { webhook: id }));
    return 'refused' in made ? made.refused() : showSecret(admin, { id, name }, made);
  });
  form('/admin/webhooks/:webhook/secrets/remove', removeUri, removeWebhookSecret, async (admin, { id }, body) => {
    const secret = webhookSecrets.find((one) => one === body['secret']);
    if (!secret) throw invalidRequest('the form names no secret');
    await admin.run(removeWebhookSecret, { webhook: id, secret });
    return admin.done(uriOf(id), 'webhook-secret-removed');
  });
  form('/admin/webhooks/:webhook/replay', replayUri, replayWebhookEvent, async (admin, { id }, body) => {
    const replayed = await admin.perform(replayWebhookEvent, { webhook: id }, { event: body['event'] ?? '' });
    // the event has left the trail since, or the webhook takes others now
    if ('refused' in replayed) throw conflict(replayed.refused);
    return admin.done(uriOf(id), 'webhook-replayed');
  });
}
