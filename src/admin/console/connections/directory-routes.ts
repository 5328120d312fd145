// Serves the console's pages about connections to directories: one directory with its test and its imports, and its forms.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../../oauth/errors.ts';
import type { Refusal } from '../../../oauth/refusals.ts';
import type { DirectoryPages, TypedDirectory } from '../../../pages/views/directories.ts';
import type { Connection } from '../../../repositories/connections/connections.ts';
import { singleValued } from '../../../server/parameters.ts';
import { changeConnection, createConnection, showConnection } from '../../operations/connections.ts';
import { approveImport, showImport, startImport, testConnection } from '../../operations/directories.ts';
import type { AdminSession, Console, Needs } from '../admin-session.ts';
import { refusedView } from '../refused.ts';
import { confirmationsOf, doneWith } from './confirmation-routes.ts';
import {
  directoryFields,
  directoryFormOf,
  directoryInputOf,
  emptyDirectoryForm,
  typedDirectory,
} from './directory-form.ts';

const path = '/admin/connections';
const newPath = `${path}/new/directory`;
const connectionPath = (id: string) => `${path}/${id}`;
export const directoryPath = (id: string) => `${connectionPath(id)}/directory`;

interface ConsoleDirectoriesDependencies {
  console: Console;
}

export async function consoleDirectoriesEndpoint(
  app: FastifyInstance,
  { console }: ConsoleDirectoriesDependencies,
): Promise<void> {
  const section = 'connections' as const;
  const idOf = (request: FastifyRequest) => (request.params as { id: string }).id;
  const find = async (admin: AdminSession, request: FastifyRequest) => {
    const found = await admin.run(showConnection, { id: idOf(request) });
    if (found.kind !== 'ldap') throw notFound('there is no such directory');
    return found;
  };

  /** Reads a form; undefined after an answer was sent. */
  async function submitted(
    request: FastifyRequest,
    reply: FastifyReply,
    { needs, action, back = action }: { needs: Needs; action: string; back?: string },
  ) {
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, { csrf: body['csrf'], action, back, fresh: true, needs });
    return admin && { admin, body };
  }

  const showForm = (admin: AdminSession, typed: TypedDirectory, of?: Connection, refusal?: Refusal) => {
    const form = admin.form(of ? `${directoryPath(of.id)}/edit` : newPath);
    return admin.send(
      'console-directory-form',
      {
        typed,
        form: of ? { ...form, hidden: { ...form.hidden, version: String(of.version) } } : form,
        ...(of && {
          of: {
            id: of.id,
            name: of.displayName,
            uri: directoryPath(of.id),
            ...(of.secretSince && { secretSince: of.secretSince }),
          },
        }),
        ...(refusal && { refused: refusedView(refusal, directoryFields(of === undefined)) }),
      },
      { section, status: refusal ? 400 : 200 },
    );
  };

  console.page(app, newPath, (admin) => showForm(admin, emptyDirectoryForm), { needs: createConnection });

  app.post(newPath, async (request, reply) => {
    const sent = await submitted(request, reply, { needs: createConnection, action: newPath });
    if (!sent) return reply;
    const { admin, body } = sent;
    const typed = typedDirectory(body);
    const input = { ...directoryInputOf(typed, true), id: typed.id.trim(), kind: 'ldap' } as never;
    const made = await admin.perform(createConnection, {}, input);
    if ('refused' in made) return showForm(admin, typed, undefined, made.refused);
    return doneWith(admin, made.done, directoryPath(made.done.id), 'connection-made');
  });

  async function show(
    admin: AdminSession,
    id: string,
    check?: DirectoryPages['console-directory']['check'],
  ): Promise<FastifyReply> {
    const { connection, last } = await admin.run(showImport, { id });
    const { settings } = connection;
    const text = (name: string) => String(settings[name] ?? '');
    const { import: interval } = settings;
    const importedNow = connection.status === 'enabled' && typeof interval === 'number';
    const { state = 'new', running = false, counts = {}, problem, finishedAt } = last ?? {};
    const form = admin.form(`${directoryPath(id)}/import`);
    // an approval is for the number that the page shows (federation FR16)
    const importForm = { ...form, hidden: { ...form.hidden, disabled: String(counts.disabled ?? 0) } };
    return admin.send(
      'console-directory',
      {
        directory: {
          id,
          name: connection.displayName,
          status: connection.status,
          url: text('url'),
          base: text('base'),
          startTls: settings['starttls'] === true,
          bindDn: text('bind_dn'),
          userFilter: text('user_filter'),
          logins: settings['login_attributes'] as string[],
          linking: connection.linking,
          provisioning: connection.provisioning,
          authoritativeDomains: connection.authoritativeDomains,
          ...(settings['group_base'] !== undefined && { groupBase: text('group_base') }),
          ...(connection.secretSince && { secretSince: connection.secretSince }),
          createdAt: connection.createdAt,
        },
        ...(await confirmationsOf(admin, connection)),
        editUri: `${directoryPath(id)}/edit`,
        deleteUri: `${connectionPath(id)}/delete`,
        testForm: admin.form(`${directoryPath(id)}/test`),
        ...(check && { check }),
        ...(importedNow && {
          imports: {
            interval,
            state,
            running,
            counts,
            ...(problem !== undefined && { problem: problem as ImportProblem }),
            ...(finishedAt && { finishedAt }),
            form: importForm,
          },
        }),
      },
      { section },
    );
  }

  console.page(app, `${path}/:id/directory`, async (admin, request) => show(admin, (await find(admin, request)).id), {
    needs: showImport,
  });

  app.post(`${path}/:id/directory/test`, async (request, reply) => {
    const id = idOf(request);
    const form = { needs: testConnection, action: `${directoryPath(id)}/test`, back: directoryPath(id) };
    const sent = await submitted(request, reply, form);
    if (!sent) return reply;
    await find(sent.admin, request);
    const login = (sent.body['login'] ?? '').replaceAll('\0', '').trim().slice(0, 320);
    const { problem, groups } = await sent.admin.run(testConnection, { id }, login === '' ? {} : { login });
    return show(sent.admin, id, { login, ...(problem ? { problem } : groups && { groups }) });
  });

  app.post(`${path}/:id/directory/import`, async (request, reply) => {
    const id = idOf(request);
    const form = { needs: startImport, action: `${directoryPath(id)}/import`, back: directoryPath(id) };
    const sent = await submitted(request, reply, form);
    if (!sent) return reply;
    const { admin, body } = sent;
    await find(admin, request);
    const isApproval = body['act'] === 'approve';
    const done = isApproval
      ? await admin.perform(approveImport, { id }, { disabled: Number(body['disabled'] ?? NaN) })
      : await admin.perform(startImport, { id }, { full: body['act'] === 'full' });
    // another administrator was first: the page shows the present state
    if ('refused' in done) return show(admin, id);
    return admin.done(directoryPath(id), isApproval ? 'import-approved' : 'import-started');
  });

  const showEdit = async (admin: AdminSession, request: FastifyRequest) => {
    const connection = await find(admin, request);
    return showForm(admin, directoryFormOf(connection), connection);
  };
  console.page(app, `${path}/:id/directory/edit`, showEdit, { needs: changeConnection });

  app.post(`${path}/:id/directory/edit`, async (request, reply) => {
    const id = idOf(request);
    const form = { needs: changeConnection, action: `${directoryPath(id)}/edit` };
    const sent = await submitted(request, reply, form);
    if (!sent) return reply;
    const { admin, body } = sent;
    const connection = await find(admin, request);
    const typed = typedDirectory({ ...body, id });
    const input = { ...directoryInputOf(typed, false), version: Number(body['version']) } as never;
    const changed = await admin.perform(changeConnection, { id }, input);
    if ('refused' in changed) return showForm(admin, typed, connection, changed.refused);
    return doneWith(admin, changed.done, directoryPath(id), 'connection-changed');
  });
}

type ImportProblem = NonNullable<NonNullable<DirectoryPages['console-directory']['imports']>['problem']>;
