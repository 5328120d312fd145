// Serves the console's form that changes a client, with every member of the metadata.
import { maxClientId } from '../../../oauth/client-document.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Refused } from '../../../browser/form-outcomes.ts';
import { type AdminSession, type Console, consoleClientId } from '../admin-session.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import { conflict } from '../../../oauth/errors.ts';
import { showClient } from '../../operations/clients.ts';
import { reviseTypedClient } from '../../operations/pages/clients.ts';
import { isServiceScope, splitScope } from '../../../oauth/scope.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import { clientForm, clientGroups, ownKindOf, readForm, typedOfClient } from './fields.ts';
import type { Typed } from '../form.ts';
import { withKeys } from '../picked.ts';
import { type FormProblem, problemOf, shownSecrets, validated } from './form.ts';
import { clientPath, listPath, named } from './view.ts';
import type { Config } from '../../../config.ts';

const byId = z.object({ id: text(maxClientId) });
const bound = z.object({
  csrf: text(100).optional(),
  version: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional(),
});

interface EditRoutesDependencies {
  config: Config;
  console: Console;
}

export async function clientEditRoutes(
  app: FastifyInstance,
  { console, config }: EditRoutesDependencies,
): Promise<void> {
  const showForm = async (admin: AdminSession, request: FastifyRequest) => {
    const client = await changeable(admin, readParameters(byId, request.params).id);
    return show(admin, client, typedOfClient(client, ownKindOf(client)));
  };

  console.page(app, `${listPath}/:id/edit`, showForm, { needs: reviseTypedClient });

  app.post(`${listPath}/:id/edit`, async (request, reply) => {
    const { id } = readParameters(byId, request.params);
    const { csrf, version = '' } = readParameters(bound, request.body);
    const action = `${clientPath(id)}/edit`;
    const admin = await console.submitted(request, reply, {
      csrf,
      action,
      shown: version,
      back: action,
      fresh: true,
      needs: reviseTypedClient,
    });
    if (!admin) return reply;
    const saved = await admin.once(() => save(admin, id, version));
    if ('refused' in saved) return saved.refused();
    if (saved.newSecret === undefined) return admin.done(clientPath(id), 'client-saved');
    const client = await admin.run(showClient, { id });
    const shown = shownSecrets(config.issuer, client, { clientSecret: saved.newSecret });
    return admin.send('console-client-secrets', { ...named(client), secrets: [], shown }, { section: 'clients' });
  });

  /** Changes the client. @returns its new secret, if the change gives it one */
  async function save(
    admin: AdminSession,
    id: string,
    version: string,
  ): Promise<Refused | { newSecret: string | undefined }> {
    const looked = await changeable(admin, id);
    const kind = ownKindOf(looked);
    const sent = readForm(singleValued(admin.request.body), kind, typedOfClient(looked, kind));
    const form = await withKeys(admin, clientForm(kind), sent);
    // the scopes that the form does not offer stay: those of APIs, and those for claims
    const kept = splitScope(looked.metadata.scope).filter((scope) => !isServiceScope(scope));
    const typed = { ...form, scope: [form['scope'] ?? '', ...kept].join('\n').trim() };
    const read = await validated(admin, typed, config, kind, looked);
    if ('refusal' in read) return { refused: () => show(admin, looked, typed, read.refusal, version) };
    const { metadata, settings } = read;
    try {
      const decision = { ...settings, version: Number(version) };
      const { newSecret } = await admin.run(reviseTypedClient, { id, metadata, decision });
      return { newSecret };
    } catch (error) {
      const problem = problemOf(error);
      // the form shows the present client again, with the typed values
      return { refused: async () => show(admin, await changeable(admin, id), typed, problem) };
    }
  }

  async function changeable(admin: AdminSession, clientId: string): Promise<Client> {
    const client = await admin.run(showClient, { id: clientId });
    // the console creates and restores its own client
    if (clientId === consoleClientId) throw conflict('the client of the console cannot be changed here');
    return client;
  }

  /** @param version the version to which the form is bound */
  function show(
    admin: AdminSession,
    client: Client,
    typed: Typed,
    refusal?: FormProblem,
    version = String(client.version),
  ): FastifyReply {
    const form = admin.form(`${clientPath(client.clientId)}/edit`, version);
    return admin.send(
      'console-client-edit',
      {
        client: named(client),
        form: { ...form, hidden: { ...form.hidden, version } },
        groups: clientGroups(typed, refusal?.faults ?? {}, ownKindOf(client)),
        ...(refusal?.changed && { changed: true }),
        ...(client.pendingMetadata && { waits: true }),
      },
      { section: 'clients', status: refusal?.status ?? 200 },
    );
  }
}
