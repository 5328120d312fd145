// Serves the console's pages that create a client: the choice of its kind, the form, and the new client with its secret and snippets.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Refused } from '../../../browser/form-outcomes.ts';
import type { Config } from '../../../config.ts';
import { randomId } from '../../../crypto/secrets.ts';
import { isUniqueViolation } from '../../../database/database.ts';
import { notFound } from '../../../oauth/errors.ts';
import { text } from '../../../oauth/text.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import type { ShownCredentials } from '../../../tokens/client-credentials.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { resourcePath } from '../../client-review.ts';
import type { ClientKind } from '../../operations/client-kinds/client-kind.ts';
import { clientKinds, findKind } from '../../operations/client-kinds/kinds.ts';
import { showClient } from '../../operations/clients.ts';
import { createTypedClient, publishedSamlKeys, usableResources } from '../../operations/pages/clients.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { clientForm, clientGroups, readForm, typedOfKind } from './fields.ts';
import type { Typed } from '../form.ts';
import { withKeys } from '../picked.ts';
import { type FormProblem, problemOf, shownSecrets, validated } from './form.ts';
import { metadataFields, withMetadata } from './saml-metadata.ts';
import { snippetsOf } from './snippets.ts';
import { clientPath, listPath, named, samlValues } from './view.ts';

const byKind = z.object({ kind: text(40) });
const bound = z.object({ csrf: text(100).optional(), client_id: text(100).optional() });
const newPath = `${listPath}/new`;
const kindPath = ({ name }: ClientKind) => `${newPath}/${encodeURIComponent(name)}`;

interface CreateRoutesDependencies {
  config: Config;
  console: Console;
}

export async function clientCreateRoutes(
  app: FastifyInstance,
  { console, config }: CreateRoutesDependencies,
): Promise<void> {
  const kinds = clientKinds.map((kind) => ({ name: kind.name, uri: kindPath(kind) }));
  console.page(app, newPath, (admin) => admin.send('console-client-kinds', { kinds }, { section: 'clients' }), {
    needs: createTypedClient,
  });

  const showForm = (admin: AdminSession, request: FastifyRequest) => {
    const kind = kindOf(request.params);
    return show(admin, kind, typedOfKind(kind), randomId());
  };
  console.page(app, `${newPath}/:kind`, showForm, { needs: createTypedClient });

  app.post(`${newPath}/:kind`, async (request, reply) => {
    const kind = kindOf(request.params);
    const action = kindPath(kind);
    // the id was made with the form: a form that is sent twice creates one client
    const { csrf, client_id: clientId = '' } = readParameters(bound, request.body);
    const form = { csrf, action, shown: clientId, back: action, fresh: true, needs: createTypedClient };
    const admin = await console.submitted(request, reply, form);
    if (!admin) return reply;
    const made = await admin.once(() => make(admin, kind, clientId));
    if ('refused' in made) return made.refused();
    const client = await admin.run(showClient, { id: clientId });
    return admin.send(
      'console-client-created',
      {
        ...named(client),
        kind: kind.name,
        credentials: shownSecrets(config.issuer, client, made),
        snippets: snippetsOf(kind, client, config.issuer),
        ...(kind.stored === 'saml' && {
          saml: samlValues(client, config.issuer, await admin.run(publishedSamlKeys, undefined)),
        }),
        ...(kind.resource && { resources: await resourcesOf(admin, client) }),
      },
      { section: 'clients' },
    );
  });

  /** Creates the client. @returns its secrets */
  async function make(
    admin: AdminSession,
    kind: ClientKind,
    clientId: string,
  ): Promise<Refused | Pick<Partial<ShownCredentials>, 'clientSecret' | 'registrationAccessToken'>> {
    const sent = singleValued(admin.request.body);
    const form = await withKeys(admin, clientForm(kind), readForm(sent, kind));
    const given =
      kind.stored === 'saml'
        ? await withMetadata(admin, form, sent)
        : { typed: form, rules: undefined, refusal: undefined };
    const { typed } = given;
    if (given.refusal) {
      const { refusal } = given;
      return { refused: () => show(admin, kind, typed, clientId, refusal) };
    }
    const read = await validated(admin, typed, config, kind);
    if ('refusal' in read) return { refused: () => show(admin, kind, typed, clientId, read.refusal) };
    const { metadata } = read;
    const settings = given.rules ? { ...read.settings, claim_rules: given.rules } : read.settings;
    try {
      const { client, shown } = await admin.run(createTypedClient, { id: clientId, metadata, settings, kind });
      const { clientSecret, registrationAccessToken } = shown;
      // administrators manage the other clients
      return { clientSecret, ...(client.selfManaged && { registrationAccessToken }) };
    } catch (error) {
      // the form is older: its first answer has shown the secret, which is no longer known
      if (isUniqueViolation(error)) return { refused: () => admin.done(clientPath(clientId), 'client-made-before') };
      const problem = problemOf(error);
      return { refused: () => show(admin, kind, typed, clientId, problem) };
    }
  }

  /** The resources that the client has by its registration, for their pages. */
  async function resourcesOf(admin: AdminSession, { metadata }: Client): Promise<{ resource: string; uri: string }[]> {
    const found = await admin.run(usableResources, metadata.resource_uris ?? []);
    return found.map(({ id, resource }) => ({ resource, uri: resourcePath(id) }));
  }

  /** @param clientId the id that the new client gets, to which the form is bound */
  function show(
    admin: AdminSession,
    kind: ClientKind,
    typed: Typed,
    clientId: string,
    refusal?: FormProblem,
  ): FastifyReply {
    const form = admin.form(kindPath(kind), clientId);
    const faults = refusal?.faults ?? {};
    const groups = [
      ...(kind.stored === 'saml' ? [{ name: 'saml', fields: metadataFields(typed, faults) }] : []),
      ...clientGroups(typed, faults, kind),
    ];
    const isAsked = ({ name }: { name: string }) => kind.asked.includes(name);
    return admin.send(
      'console-client-create',
      {
        kind: kind.name,
        form: { ...form, hidden: { ...form.hidden, client_id: clientId } },
        asked: groups
          .flatMap(({ fields }) => fields.filter(isAsked))
          .sort((a, b) => kind.asked.indexOf(a.name) - kind.asked.indexOf(b.name)),
        advanced: groups
          .map(({ name, fields }) => ({ name, fields: fields.filter((field) => !isAsked(field)) }))
          .filter(({ fields }) => fields.length > 0),
      },
      { section: 'clients', status: refusal?.status ?? 200 },
    );
  }
}

/** @throws OAuthError not_found */
function kindOf(parameters: unknown): ClientKind {
  const { kind: name } = readParameters(byKind, parameters);
  const kind = findKind(name);
  if (!kind) throw notFound('there is no such kind of client');
  return kind;
}
