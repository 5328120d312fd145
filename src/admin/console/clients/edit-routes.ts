// Serves the console's form that creates or changes a client, with every member of the metadata.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { randomId } from '../../../crypto/secrets.ts';
import { isUniqueViolation } from '../../../database/database.ts';
import { type AdminSession, type Console, consoleClientId } from '../admin-session.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import type { FieldFault } from '../../../pages/views/console-clients.ts';
import { type ClientMetadata, parseClientMetadata } from '../../../oauth/client-metadata.ts';
import { conflict, OAuthError } from '../../../oauth/errors.ts';
import { findClient, makeClient, reviseClient } from '../../operations/clients.ts';
import type { OperationContext } from '../../operations/operation.ts';
import type { Client, ClientChange } from '../../../repositories/clients/clients.ts';
import type { Store } from '../../../repositories/store.ts';
import type { ShownCredentials } from '../../../tokens/client-credentials.ts';
import { faultsOf, fieldFault, fieldOf } from './faults.ts';
import { clientOfForm, fieldsOf, formOfClient, newClientForm, readForm } from './fields.ts';
import { clientPath, listPath, named } from './view.ts';
import type { Config } from '../../../config.ts';

const byId = z.object({ id: text(255) });
const bound = z.object({
  csrf: text(100).optional(),
  client_id: text(100).optional(),
  version: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional(),
});
const newPath = `${listPath}/new`;

/** Why a form was refused: the faults of its fields, or one problem of the whole. */
interface FormProblem {
  faults: Record<string, FieldFault>;
  problem?: string;
  changed?: boolean;
  status: number;
}

/** The new secrets as their page shows them, once. */
export function shownSecrets(issuer: string, clientId: string, shown: Partial<ShownCredentials>) {
  const values = {
    client_id: clientId,
    issuer,
    client_secret: shown.clientSecret,
    shared_secret: shown.sharedSecret,
    registration_access_token: shown.registrationAccessToken,
  };
  type Name = keyof typeof values;
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name: name as Name, value }],
  );
}

interface EditRoutesDependencies {
  config: Config;
  store: Pick<Store, 'clients'>;
  console: Console;
  operationContext: OperationContext;
}

export async function clientEditRoutes(
  app: FastifyInstance,
  { console, store, config, operationContext }: EditRoutesDependencies,
): Promise<void> {
  const find = (clientId: string) => findClient(store, clientId);
  console.page(app, newPath, (admin) => show(admin, undefined, newClientForm, undefined, randomId()));

  app.post(newPath, async (request, reply) => {
    // the id was made with the form: a form that is sent twice creates one client
    const { csrf, client_id: clientId = '' } = readParameters(bound, request.body);
    const admin = await console.submitted(request, reply, {
      csrf,
      action: newPath,
      shown: clientId,
      back: newPath,
      fresh: true,
    });
    if (!admin) return reply;
    const typed = readForm(singleValued(request.body));
    const read = validated(typed, config);
    if ('refusal' in read) return show(admin, undefined, typed, read.refusal, clientId);
    const { metadata, settings } = read;
    let made: Awaited<ReturnType<typeof makeClient>>;
    try {
      made = await makeClient(operationContext, admin.by, clientId, metadata, settings);
    } catch (error) {
      // the form was sent twice: the first answer has shown the secrets, which are no longer known
      if (isUniqueViolation(error)) return admin.done(clientPath(clientId), 'client-made-before');
      return show(admin, undefined, typed, problemOf(error), clientId);
    }
    const { client, shown } = made;
    return admin.send(
      'console-client-secrets',
      { ...named(client), secrets: [], shown: shownSecrets(config.issuer, clientId, shown), made: true },
      { section: 'clients' },
    );
  });

  console.page(app, `${listPath}/:id/edit`, async (admin, request) => {
    const client = await changeable(readParameters(byId, request.params).id);
    return show(admin, client, formOfClient(client));
  });

  app.post(`${listPath}/:id/edit`, async (request, reply) => {
    const { id } = readParameters(byId, request.params);
    const { csrf, version = '' } = readParameters(bound, request.body);
    const action = `${clientPath(id)}/edit`;
    const admin = await console.submitted(request, reply, { csrf, action, shown: version, back: action, fresh: true });
    if (!admin) return reply;
    const looked = await changeable(id);
    const typed = readForm(singleValued(request.body));
    const read = validated(typed, config);
    if ('refusal' in read) return show(admin, looked, typed, read.refusal, version);
    const { metadata, settings } = read;
    let changed: Awaited<ReturnType<typeof reviseClient>>;
    try {
      const decision = { ...settings, version: Number(version) };
      changed = await reviseClient(
        operationContext,
        admin.by,
        id,
        () => metadata,
        () => decision,
      );
    } catch (error) {
      // the form shows the present client again, with the typed values
      return show(admin, await changeable(id), typed, problemOf(error));
    }
    const { client, newSecret } = changed;
    if (newSecret === undefined) return admin.done(clientPath(id), 'client-saved');
    const shown = shownSecrets(config.issuer, id, { clientSecret: newSecret });
    return admin.send('console-client-secrets', { ...named(client), secrets: [], shown }, { section: 'clients' });
  });

  async function changeable(clientId: string): Promise<Client> {
    const client = await find(clientId);
    // the console creates and restores its own client
    if (clientId === consoleClientId) throw conflict("the client of the console cannot be changed here");
    return client;
  }

  /** @param shown the version to which the form is bound, or the id that a new client gets */
  function show(
    admin: AdminSession,
    client: Client | undefined,
    typed: Record<string, string>,
    refusal?: FormProblem,
    shown = client && String(client.version),
  ): FastifyReply {
    const action = client ? `${clientPath(client.clientId)}/edit` : newPath;
    const form = admin.form(action, shown);
    return admin.send(
      'console-client-edit',
      {
        ...(client && { client: named(client) }),
        form: { ...form, hidden: { ...form.hidden, [client ? 'version' : 'client_id']: shown ?? '' } },
        groups: fieldsOf(typed, refusal?.faults ?? {}),
        ...(refusal?.problem !== undefined && { problem: refusal.problem }),
        ...(refusal?.changed && { changed: true }),
        ...(client?.pendingMetadata && { waits: true }),
      },
      { section: 'clients', status: refusal?.status ?? 200 },
    );
  }
}

/** The typed values as valid metadata, or their faults. */
function validated(
  typed: Record<string, string>,
  config: Config,
): { metadata: ClientMetadata; settings: ClientChange } | { refusal: FormProblem } {
  const { metadata, settings, faults } = clientOfForm(typed);
  const all: FormProblem['faults'] = { ...faultsOf(metadata), ...faults };
  // only a client that registers itself may omit the name (RFC 7591 2): pages show its id instead
  const unnamed: FormProblem['faults'] = metadata['client_name'] === undefined ? { client_name: { code: 'name' } } : {};
  const refused = (of: FormProblem) => ({ refusal: { ...of, faults: { ...unnamed, ...of.faults } } });
  if (Object.keys(all).length > 0) return refused({ faults: all, status: 400 });
  try {
    const parsed = parseClientMetadata(metadata, { admin: true }, config);
    return 'client_name' in unnamed ? refused({ faults: {}, status: 400 }) : { metadata: parsed, settings };
  } catch (error) {
    return refused(problemOf(error));
  }
}

/** Turns a refusal into the problem that the form shows; throws any other error. */
function problemOf(error: unknown): FormProblem {
  if (!(error instanceof OAuthError) || error.status >= 500) throw error;
  if (error.refusal?.code === 'resource-held') return { faults: {}, problem: error.description, status: 409 };
  if (error.code === 'conflict') return { faults: {}, changed: true, status: 409 };
  if (!error.refusal) throw error;
  return { faults: { [fieldOf(error.refusal)]: fieldFault(error.refusal) }, status: 400 };
}
