// Making a client in the console, and changing one: a form with every member of the metadata.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { randomId } from '../../../crypto/secrets.ts';
import { isUniqueViolation } from '../../../database/database.ts';
import { type ConsoleVisit, consoleClientId } from '../admin-session.ts';
import { readParameters, singleValued, text } from '../../../server/parameters.ts';
import type { FieldFault } from '../../../pages/views/console-clients.ts';
import { type ClientMetadata, parseClientMetadata } from '../../../oauth/client-metadata.ts';
import { conflict, OAuthError, ResourceHeld } from '../../../oauth/errors.ts';
import { needsSectorCheck } from '../../../oauth/subject-type.ts';
import type { Administration } from '../../../domain/administration/administration.ts';
import type { Client, ClientChange } from '../../../repositories/clients/clients.ts';
import { newCredentials, secretFor, type ShownCredentials } from '../../../tokens/client-credentials.ts';
import { faultsOf, fieldFault, fieldOf } from './faults.ts';
import { clientOfForm, fieldsOf, formOfClient, newClientForm, readForm } from './fields.ts';
import { clientPath, listPath, named } from './view.ts';
import type { Config } from '../../../config.ts';
import type { ClientCache } from '../../../repositories/clients/client-cache.ts';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import type { CheckSector } from '../../../domain/sector-check.ts';
import type { Console } from '../admin-session.ts';

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

/** Why a form was not taken: what is wrong with its fields, or with all of it. */
interface FormProblem {
  faults: Record<string, FieldFault>;
  problem?: string;
  changed?: boolean;
  status: number;
}

/** Secrets as their page shows them, once. */
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

export interface EditRoutesDependencies {
  config: Config;
  clients: ClientCache;
  secretBox: SecretBox;
  checkSector: CheckSector;
  console: Console;
}

export function editRoutes(
  app: FastifyInstance,
  { console, clients, checkSector, secretBox, config }: EditRoutesDependencies,
  administration: Administration,
  find: (clientId: string) => Promise<Client>,
): void {
  app.get(newPath, async (request, reply) => {
    const visit = await console.enter(request, reply);
    return visit ? show(request, reply, visit, undefined, newClientForm, undefined, randomId()) : reply;
  });

  app.post(newPath, async (request, reply) => {
    // the id was made with the form: sent twice, it makes one client
    const { csrf, client_id: clientId = '' } = readParameters(bound, request.body);
    const visit = await console.submitted(request, reply, {
      csrf,
      action: newPath,
      shown: clientId,
      back: newPath,
      fresh: true,
    });
    if (!visit) return reply;
    const typed = readForm(singleValued(request.body));
    const read = validated(typed, config);
    if ('refusal' in read) return show(request, reply, visit, undefined, typed, read.refusal, clientId);
    const { metadata, settings } = read;
    const { stored, shown } = newCredentials(secretBox, clientId, metadata);
    try {
      await checkSector(metadata);
    } catch (error) {
      return show(request, reply, visit, undefined, typed, problemOf(error), clientId);
    }
    let client: Client;
    try {
      client = await administration.createClient(
        visit.by,
        { clientId, metadata, status: 'enabled', approvedBy: 'administrator', firstParty: false, ...stored },
        settings,
      );
    } catch (error) {
      if (error instanceof ResourceHeld)
        return show(request, reply, visit, undefined, typed, problemOf(error), clientId);
      if (!isUniqueViolation(error)) throw error;
      // its secrets were shown then, and are not known any more
      return console.done(reply, clientPath(clientId), 'client-made-before');
    }
    return console.send(
      request,
      reply,
      visit,
      'console-client-secrets',
      { ...named(client), secrets: [], shown: shownSecrets(config.issuer, clientId, shown), made: true },
      { section: 'clients' },
    );
  });

  app.get(`${listPath}/:id/edit`, async (request, reply) => {
    const visit = await console.enter(request, reply);
    if (!visit) return reply;
    const client = await changeable(readParameters(byId, request.params).id);
    return show(request, reply, visit, client, formOfClient(client));
  });

  app.post(`${listPath}/:id/edit`, async (request, reply) => {
    const { id } = readParameters(byId, request.params);
    const { csrf, version = '' } = readParameters(bound, request.body);
    const action = `${clientPath(id)}/edit`;
    const visit = await console.submitted(request, reply, { csrf, action, shown: version, back: action, fresh: true });
    if (!visit) return reply;
    const looked = await changeable(id);
    const typed = readForm(singleValued(request.body));
    const read = validated(typed, config);
    if ('refusal' in read) return show(request, reply, visit, looked, typed, read.refusal, version);
    const { metadata, settings } = read;
    let newSecret: string | undefined;
    try {
      if (needsSectorCheck(metadata, looked.metadata)) await checkSector(metadata);
      await administration.changeClient(visit.by, id, (client) => {
        const issued = secretFor(secretBox, client, metadata);
        newSecret = issued?.newSecret;
        return { ...settings, metadata, credentials: issued?.credentials, version: Number(version) };
      });
    } catch (error) {
      // shown with what the client has become; what was typed stays
      return show(request, reply, visit, await changeable(id), typed, problemOf(error));
    }
    clients.forget(id);
    if (newSecret === undefined) return console.done(reply, clientPath(id), 'client-saved');
    const shown = shownSecrets(config.issuer, id, { clientSecret: newSecret });
    return console.send(
      request,
      reply,
      visit,
      'console-client-secrets',
      { ...named(await find(id)), secrets: [], shown },
      { section: 'clients' },
    );
  });

  async function changeable(clientId: string): Promise<Client> {
    const client = await find(clientId);
    // it is made and kept by the console itself
    if (clientId === consoleClientId) throw conflict("the console's own client is not changed here");
    return client;
  }

  /** @param shown what the form is bound to: the version that it was made for, or the id that a new client gets */
  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: ConsoleVisit,
    client: Client | undefined,
    typed: Record<string, string>,
    refusal?: FormProblem,
    shown = client && String(client.version),
  ): FastifyReply {
    const action = client ? `${clientPath(client.clientId)}/edit` : newPath;
    const form = console.form(request, reply, visit, action, shown);
    return console.send(
      request,
      reply,
      visit,
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

/** What was typed as metadata that registers, or what is wrong with it. */
function validated(
  typed: Record<string, string>,
  config: Config,
): { metadata: ClientMetadata; settings: ClientChange } | { refusal: FormProblem } {
  const { metadata, settings, faults } = clientOfForm(typed);
  const all: FormProblem['faults'] = { ...faultsOf(metadata), ...faults };
  // only what registers itself may leave it out (RFC 7591 2): its id is shown in the place of a name
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

/** A refusal as the form shows it; throws any other error. */
function problemOf(error: unknown): FormProblem {
  if (!(error instanceof OAuthError) || error.status >= 500) throw error;
  if (error instanceof ResourceHeld) return { faults: {}, problem: error.description, status: 409 };
  if (error.code === 'conflict') return { faults: {}, changed: true, status: 409 };
  if (!error.refusal) throw error;
  return { faults: { [fieldOf(error.refusal)]: fieldFault(error.refusal) }, status: 400 };
}
