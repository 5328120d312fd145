// Serves the console's pages that renew the secrets of a client, disable it or delete it, after a page that names the consequences.
import { maxClientId } from '../../../oauth/client-document.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { type AdminSession, type Console, consoleClientId } from '../admin-session.ts';
import { isTypedName } from '../typed-name.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { deleteClient, disableClient, renewSecrets, showClient } from '../../operations/clients.ts';
import { clientEnd, maxCounted } from '../../operations/pages/clients.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import { clientSecrets, secretsOf, type ShownCredentials } from '../../../tokens/client-credentials.ts';
import { shownSecrets } from './form.ts';
import { clientPath, figuresOf, listPath, named } from './view.ts';
import type { Config } from '../../../config.ts';

const byId = z.object({ id: text(maxClientId) });
const sent = z.object({
  csrf: text(100).optional(),
  version: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional(),
  typed: text(maxClientId).optional(),
});

interface EndRoutesDependencies {
  config: Config;
  console: Console;
}

export async function clientEndRoutes(app: FastifyInstance, { console, config }: EndRoutesDependencies): Promise<void> {
  const find = (admin: AdminSession, id: string) => admin.run(showClient, { id });
  const secretsPath = (clientId: string) => `${clientPath(clientId)}/secrets`;

  console.page(
    app,
    `${listPath}/:id/secrets`,
    async (admin, request) => askForSecrets(admin, await find(admin, readParameters(byId, request.params).id)),
    { needs: renewSecrets },
  );

  app.post(`${listPath}/:id/secrets`, async (request, reply) => {
    const { id } = readParameters(byId, request.params);
    const { csrf, version = '' } = readParameters(sent, request.body);
    const action = secretsPath(id);
    const admin = await console.submitted(request, reply, {
      csrf,
      action,
      shown: version,
      back: action,
      fresh: true,
      needs: renewSecrets,
    });
    if (!admin) return reply;
    const typed = singleValued(request.body);
    const wanted = clientSecrets.filter((secret) => typed[secret] !== undefined);
    if (wanted.length === 0) return askForSecrets(admin, await find(admin, id), 'nothing');
    const input = { secrets: wanted, version: Number(version) };
    const shown = await admin.once<Partial<ShownCredentials>>(async () => {
      const renewed = await admin.perform(renewSecrets, { id }, input);
      if ('done' in renewed) return renewed.done.shown;
      return { refused: async () => askForSecrets(admin, await find(admin, id), 'changed') };
    });
    if ('refused' in shown) return shown.refused();
    const client = await find(admin, id);
    return admin.send(
      'console-client-secrets',
      { ...named(client), secrets: [], shown: shownSecrets(config.issuer, client, shown) },
      { section: 'clients' },
    );
  });

  for (const operation of ['disable', 'delete'] as const) {
    const needs = operation === 'disable' ? disableClient : deleteClient;
    console.page(
      app,
      `${listPath}/:id/${operation}`,
      async (admin, request) => confirm(admin, operation, await find(admin, readParameters(byId, request.params).id)),
      { needs },
    );

    app.post(`${listPath}/:id/${operation}`, async (request, reply) => {
      const { id } = readParameters(byId, request.params);
      const { csrf, typed = '' } = readParameters(sent, request.body);
      const action = `${clientPath(id)}/${operation}`;
      const admin = await console.submitted(request, reply, { csrf, action, back: action, fresh: true, needs });
      if (!admin) return reply;
      const client = await find(admin, id);
      if (asksName(operation, id) && !isTypedName(typed, displayName(id, client.metadata), id))
        return confirm(admin, operation, client, typed);
      if (operation === 'disable') await admin.run(disableClient, { id });
      else await admin.run(deleteClient, { id });
      return operation === 'disable'
        ? admin.done(clientPath(id), 'client-disabled')
        : admin.done(listPath, 'client-deleted');
    });
  }

  function askForSecrets(admin: AdminSession, client: Client, problem?: 'nothing' | 'changed'): FastifyReply {
    const secrets = secretsOf(client);
    const version = String(client.version);
    const form = admin.form(secretsPath(client.clientId), version);
    return admin.send(
      'console-client-secrets',
      {
        ...named(client),
        secrets,
        ...(client.kind === 'proxy' && { ofSite: true }),
        ...(secrets.length > 0 && { form: { ...form, hidden: { ...form.hidden, version } } }),
        ...(problem && { problem }),
      },
      { section: 'clients', status: problem === 'changed' ? 409 : problem ? 400 : 200 },
    );
  }

  async function confirm(
    admin: AdminSession,
    operation: 'disable' | 'delete',
    client: Client,
    typed?: string,
  ): Promise<FastifyReply> {
    const { clientId } = client;
    const { figures, users } = await admin.run(clientEnd, clientId);
    return admin.send(
      'console-client-end',
      {
        ...named(client),
        operation,
        form: admin.form(`${clientPath(clientId)}/${operation}`),
        users,
        figures: figuresOf(figures, ['sessions', 'accessTokens', 'refreshTokens', 'grants', 'settings']),
        most: maxCounted,
        ...(asksName(operation, clientId) && { typed: typed ?? '' }),
        ...(typed !== undefined && { problem: 'name' as const }),
      },
      { section: 'clients', status: typed === undefined ? 200 : 400 },
    );
  }
}

/** Whether the operation asks for the client's name: deletion cannot be undone, and without its own client the console works for no one. */
const asksName = (operation: 'disable' | 'delete', clientId: string): boolean =>
  operation === 'delete' || clientId === consoleClientId;
