// Serves the console's page of one client and the list of what is pending, and the forms of both: they approve, refuse, and dismiss warnings.
import { maxClientId } from '../../../oauth/client-document.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import { readCursor } from '../../../domain/administration/paging.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { text } from '../../../oauth/text.ts';
import type { FormView, Pages } from '../../../pages/views/index.ts';
import type { LookAlike } from '../../../repositories/clients/client-review.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { decideClients, dismissLookAlike } from '../../operations/client-decisions.ts';
import { clientPage, findClients, findKnownClient } from '../../operations/pages/clients.ts';
import { reviewClients } from '../../operations/pages/client-reviews.ts';
import { keptOf, takeOverUri } from '../kept-by-files.ts';
import { type AdminSession, type Console, consoleClientId } from '../admin-session.ts';
import { around } from './routes.ts';
import {
  clientPath,
  decidePath,
  factsOf,
  historyOf,
  listPath,
  nameReviewed,
  reviewFactsOf,
  waitingPath,
  waits,
} from './view.ts';

const byId = z.object({ id: text(maxClientId) });
const paged = z.object({ cursor: text(500).optional() });
const decision = z.object({
  csrf: text(100).optional(),
  // each client_id of 20, percent-encoded, with its version
  shown: text(20 * (3 * maxClientId + 12)),
  decision: z.enum(['approve', 'refuse']),
  reason: text(1000).optional(),
  // the page of a client, or one entry of the list; otherwise the form for the selected entries
  from: z.enum(['client', 'entry']).optional(),
});
const dismissal = z.object({
  csrf: text(100).optional(),
  other: text(maxClientId),
  name: text(400),
  other_name: text(400),
  from: z.literal('client').optional(),
});
const pageLength = 20;

interface ClientDecisionDependencies {
  config: Config;
  console: Console;
}

export async function clientDecisionRoutes(
  app: FastifyInstance,
  { config, console }: ClientDecisionDependencies,
): Promise<void> {
  const dismissPath = (clientId: string) => `${clientPath(clientId)}/look-alikes`;

  console.page(
    app,
    waitingPath,
    (admin, request) => showWaiting(admin, { cursor: readParameters(paged, request.query).cursor }),
    { needs: findClients },
  );

  console.page(app, `${listPath}/:id`, (admin, request) => showClient(admin, readParameters(byId, request.params).id), {
    needs: clientPage,
  });

  app.post(decidePath, async (request, reply) => {
    const sent = singleValued(request.body);
    const form = readParameters(decision, request.body);
    const shown = form.shown
      .split(',')
      .map((client) => client.split(' '))
      .map(([id = '', version]) => [readId(id), version] as const);
    const back = form.from === 'client' ? clientPath(shown[0]?.[0] ?? '') : waitingPath;
    const bound = { csrf: form.csrf, action: decidePath, shown: form.shown };
    const admin = await console.submitted(request, reply, { ...bound, back, fresh: true, needs: decideClients });
    if (!admin) return reply;
    const reason = form.reason?.trim() ?? '';
    const picked = shown
      .filter((_client, index) => sent[`client.${index}`] !== undefined)
      .map(([clientId = '', version]) => ({ client_id: clientId, version: Number(version) }));
    const [first] = picked;
    const refuses = form.decision === 'refuse';
    const typed = {
      reason,
      selected: form.from === 'entry' ? [] : picked.map(({ client_id: clientId }) => clientId),
      ...(form.from === 'entry' && first && { entry: first.client_id }),
    };
    if (!first) return showWaiting(admin, { ...typed, problem: 'nothing', status: 400 });
    if (refuses && reason === '') {
      if (form.from === 'client') return showClient(admin, first.client_id, 'reason');
      return showWaiting(admin, { ...typed, problem: 'reason', status: 400 });
    }
    const input = { decision: form.decision, clients: picked, ...(refuses && { reason }) };
    const outcomes = await admin.run(decideClients, {}, input).catch(keptOf);
    if ('section' in outcomes) return admin.done(takeOverUri({ ...outcomes, back }), 'kept-by-files');
    const changed = outcomes.filter(({ outcome }) => outcome === 'changed');
    const gone = outcomes.filter(({ outcome }) => outcome === 'gone').length;
    const held = outcomes.filter(({ outcome }) => outcome === 'held');
    if (changed.length + held.length + gone === 0) {
      const stillWaits =
        !refuses &&
        picked.length === 1 &&
        (await admin.run(findKnownClient, first.client_id))?.pendingMetadata !== undefined;
      return admin.done(back, refuses ? 'client-refused' : stillWaits ? 'client-enabled' : 'client-approved');
    }
    const names = (of: typeof outcomes) => Promise.all(of.map(({ clientId }) => nameOf(admin, clientId)));
    const decided = outcomes.length - changed.length - held.length - gone;
    const report = { decided, changed: await names(changed), held: await names(held), gone };
    return showWaiting(admin, { reason, report, status: 409 });
  });

  app.post(`${listPath}/:id/look-alikes`, async (request, reply) => {
    const { id } = readParameters(byId, request.params);
    const { csrf, other, name, other_name: otherName, from } = readParameters(dismissal, request.body);
    const back = from === 'client' ? clientPath(id) : waitingPath;
    const bound = { csrf, action: dismissPath(id), shown: namesShown(other, name, otherName) };
    const admin = await console.submitted(request, reply, { ...bound, back, fresh: true, needs: dismissLookAlike });
    if (!admin) return reply;
    const input = { name, other_name: otherName };
    const dismissed = await admin.perform(dismissLookAlike, { id, other }, input);
    return admin.done(back, 'refused' in dismissed ? 'look-alike-changed' : 'look-alike-dismissed');
  });

  const namesShown = (other: string, name: string, otherName: string) => JSON.stringify([other, name, otherName]);

  /** Returns a function that makes the form that dismisses a warning: it is valid for the shown names only. */
  const dismissalOn =
    (admin: AdminSession, from?: 'client') =>
    (client: Client, other: LookAlike): FormView => {
      const name = nameReviewed(client);
      const form = admin.form(dismissPath(client.clientId), namesShown(other.clientId, name, other.name));
      const names = { other: other.clientId, name, other_name: other.name };
      return { ...form, hidden: { ...form.hidden, ...names, ...(from && { from }) } };
    };

  async function nameOf(admin: AdminSession, clientId: string): Promise<string> {
    const client = await admin.run(findKnownClient, clientId);
    return client ? displayName(clientId, client.metadata) : clientId;
  }

  /** A form that decides about these clients, each at the shown version. @param from for the form of one client, which is selected */
  function decisionForm(admin: AdminSession, shown: readonly Client[], from?: 'client' | 'entry'): FormView {
    // an address may contain a comma
    const bound = shown.map(({ clientId, version }) => `${encodeURIComponent(clientId)} ${version}`).join(',');
    const form = admin.form(decidePath, bound);
    return { ...form, hidden: { ...form.hidden, shown: bound, ...(from && { 'client.0': 'on', from }) } };
  }

  async function showClient(admin: AdminSession, id: string, problem?: 'reason'): Promise<FastifyReply> {
    const found = await admin.run(clientPage, id);
    const { client } = found;
    const own = client.clientId === consoleClientId;
    const usable = client.status === 'enabled' && client.metadata.redirect_uris.length > 0 && !own;
    const decides = waits(client) || (client.status === 'disabled' && !client.uncollected);
    return admin.send(
      'console-client',
      {
        ...factsOf(found, config.issuer, dismissalOn(admin, 'client')),
        ...historyOf(found),
        own,
        ...(decides && { decision: decisionForm(admin, [client], 'client') }),
        ...(usable &&
          client.kind === 'oauth' && { tryUri: `/admin/try-it?client_id=${encodeURIComponent(client.clientId)}` }),
        ...(problem && { problem }),
      },
      { section: 'clients', status: problem ? 400 : 200 },
    );
  }

  async function showWaiting(
    admin: AdminSession,
    state: { cursor?: string | undefined; status?: number } & Pick<
      Partial<Pages['console-registrations']>,
      'report' | 'problem' | 'entry' | 'selected' | 'reason'
    >,
  ): Promise<FastifyReply> {
    const { cursor, status, ...rest } = state;
    const page = { limit: pageLength + 1, after: readCursor(cursor) };
    const found = await admin.run(findClients, { filter: { waiting: true }, page });
    const shown = found.slice(0, pageLength);
    const lookup = await admin.run(reviewClients, shown);
    return admin.send(
      'console-registrations',
      {
        reason: '',
        selected: [],
        ...rest,
        ...(shown.length > 0 && { form: decisionForm(admin, shown) }),
        waiting: shown.map((client) => ({
          ...reviewFactsOf(client, lookup, dismissalOn(admin)),
          decision: decisionForm(admin, [client], 'entry'),
        })),
        ...around(waitingPath, {}, cursor, found, pageLength),
      },
      { section: 'clients', status: status ?? 200 },
    );
  }
}

/** Reads an id of the form; a form that was written by hand may hold anything. */
function readId(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return '';
  }
}
