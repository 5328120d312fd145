// Shows and reads the forms that create and change a connection to a provider or to a directory.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../../config.ts';
import type { ConnectionVariant } from '../../../domain/connections/kind.ts';
import { type ConnectionKinds, variantOfConnection } from '../../../domain/connections/kinds.ts';
import { type Connection, connectionId, connections } from '../../../entities/connections.ts';
import { view } from '../../../entities/entity.ts';
import { notFound } from '../../../oauth/errors.ts';
import type { Refusal } from '../../../oauth/refusals.ts';
import { changeConnection, createConnection } from '../../operations/connections.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { inputOf, namesOf, type Typed, typedIn, typedOf } from '../form.ts';
import { refusedView } from '../refused.ts';
import { submittedForms } from '../submitted-form.ts';
import { doneWith } from './confirmation-routes.ts';
import { connectionFields, formOfType, proposedBy } from './form.ts';
import type { ConnectionType } from './types.ts';

export interface ConnectionFormDependencies {
  config: Config;
  console: Console;
  connectionKinds: ConnectionKinds;
}

export const connectionsPath = '/admin/connections';
export const newPathOf = ({ name }: ConnectionType) => `${connectionsPath}/new/${name}`;
/** The page of a connection. */
export const pathOf = ({ id, kind }: Pick<Connection, 'id' | 'kind'>) =>
  `${connectionsPath}/${id}${kind === 'ldap' ? '/directory' : ''}`;

export function connectionForms({ config, console, connectionKinds }: ConnectionFormDependencies) {
  const submitted = submittedForms(console);

  /** @throws OAuthError not_found for a connection of a version with other presets */
  function variantOf({ kind, preset }: ConnectionType): ConnectionVariant {
    const variant = variantOfConnection(connectionKinds, { kind, preset });
    if (!variant) throw notFound('there is no such form');
    return variant;
  }

  function show(admin: AdminSession, type: ConnectionType, of?: Connection, typed?: Typed, refusal?: Refusal) {
    const variant = variantOf(type);
    const values = of && view(connections, of);
    const form = formOfType(type, variant, values);
    const filled = { ...typedOf(form, values ?? proposedBy(type, variant)), ...typed };
    const sent = admin.form(of ? `${pathOf(of)}/edit` : newPathOf(type));
    const id = of?.id ?? connectionId.safeParse(filled['id']).data ?? 'ID';
    return admin.send(
      'console-connection-form',
      {
        type: type.name,
        fields: connectionFields(type, form, filled, of?.secretSince !== undefined),
        // the form is for the version that its page showed
        form: of ? { ...sent, hidden: { ...sent.hidden, version: String(of.version) } } : sent,
        ...(type.kind !== 'ldap' && { redirectUri: `${config.issuer}/connections/${id}/callback` }),
        ...(of && { of: { name: of.displayName, uri: pathOf(of) } }),
        ...(refusal && { refused: refusedView(refusal, namesOf(form)) }),
      },
      { section: 'connections', status: refusal ? 400 : 200 },
    );
  }

  return {
    show,
    async create(request: FastifyRequest, reply: FastifyReply, type: ConnectionType): Promise<FastifyReply> {
      const sent = await submitted(request, reply, newPathOf(type), createConnection);
      if (!sent) return reply;
      const { admin, body } = sent;
      const { kind, preset } = type;
      const form = formOfType(type, variantOf(type));
      const typed = typedIn(form, body);
      const input = { ...inputOf(form, typed), kind, ...(preset && { preset }) };
      const made = await admin.perform(createConnection, {}, input);
      if ('refused' in made) return show(admin, type, undefined, typed, made.refused);
      return doneWith(admin, made.done, pathOf(made.done), 'connection-made');
    },
    /** @param find finds the connection and the type of its form @throws OAuthError not_found */
    async change(
      request: FastifyRequest,
      reply: FastifyReply,
      page: string,
      find: (admin: AdminSession) => Promise<{ of: Connection; type: ConnectionType }>,
    ): Promise<FastifyReply> {
      const sent = await submitted(request, reply, `${page}/edit`, changeConnection);
      if (!sent) return reply;
      const { admin, body } = sent;
      const { of, type } = await find(admin);
      const form = formOfType(type, variantOf(type), view(connections, of));
      const typed = typedIn(form, body);
      const input = { ...inputOf(form, typed), version: Number(body['version']) };
      const changed = await admin.perform(changeConnection, { id: of.id }, input);
      if ('refused' in changed) return show(admin, type, of, typed, changed.refused);
      return doneWith(admin, changed.done, page, 'connection-changed');
    },
  };
}
