// Serves the console's pages about connections to directories: one directory with its test and its imports, and its forms.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../../oauth/errors.ts';
import type { DirectoryPages } from '../../../pages/views/directories.ts';
import { singleValued } from '../../../server/parameters.ts';
import { changeConnection, createConnection, showConnection } from '../../operations/connections.ts';
import { approveImport, showImport, startImport, testConnection } from '../../operations/directories.ts';
import type { AdminSession, Needs } from '../admin-session.ts';
import { ruleLists } from '../rule-pages.ts';
import { confirmationsOf } from './confirmation-routes.ts';
import {
  type ConnectionFormDependencies,
  connectionForms,
  connectionsPath,
  newPathOf,
  pathOf,
  ruleOwnerOf,
} from './form-pages.ts';
import { directoryType } from './types.ts';

const path = connectionsPath;
const directoryPath = (id: string) => pathOf({ id, kind: 'ldap' });

export async function consoleDirectoriesEndpoint(
  app: FastifyInstance,
  dependencies: ConnectionFormDependencies,
): Promise<void> {
  const { console } = dependencies;
  const forms = connectionForms(dependencies);
  const section = 'connections' as const;
  const idOf = (request: FastifyRequest) => (request.params as { id: string }).id;
  const find = async (admin: AdminSession, request: FastifyRequest) => {
    const found = await admin.run(showConnection, { id: idOf(request) });
    if (found.kind !== 'ldap') throw notFound('there is no such directory');
    return found;
  };

  /** Reads a form whose answer is the page of the directory; undefined after an answer was sent. */
  async function submitted(request: FastifyRequest, reply: FastifyReply, needs: Needs, act: string) {
    const body = singleValued(request.body);
    const back = directoryPath(idOf(request));
    const form = { csrf: body['csrf'], action: `${back}/${act}`, back, fresh: true, needs };
    const admin = await console.submitted(request, reply, form);
    return admin && { admin, body };
  }

  console.page(app, newPathOf(directoryType), (admin) => forms.show(admin, directoryType), { needs: createConnection });
  app.post(newPathOf(directoryType), async (request, reply) => forms.create(request, reply, directoryType));

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
        rules: ruleLists(admin, ruleOwnerOf(connection)),
        editUri: `${directoryPath(id)}/edit`,
        deleteUri: `${path}/${id}/delete`,
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
    const sent = await submitted(request, reply, testConnection, 'test');
    if (!sent) return reply;
    await find(sent.admin, request);
    const login = (sent.body['login'] ?? '').replaceAll('\0', '').trim().slice(0, 320);
    const { problem, groups, given } = await sent.admin.run(testConnection, { id }, login === '' ? {} : { login });
    return show(sent.admin, id, { login, ...(problem ? { problem } : groups && { groups, ...(given && { given }) }) });
  });

  app.post(`${path}/:id/directory/import`, async (request, reply) => {
    const id = idOf(request);
    const sent = await submitted(request, reply, startImport, 'import');
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

  const edit = `${path}/:id/directory/edit`;
  console.page(app, edit, async (admin, request) => forms.show(admin, directoryType, await find(admin, request)), {
    needs: changeConnection,
  });
  app.post(edit, async (request, reply) =>
    forms.change(request, reply, directoryPath(idOf(request)), async (admin) => ({
      of: await find(admin, request),
      type: directoryType,
    })),
  );
}

type ImportProblem = NonNullable<NonNullable<DirectoryPages['console-directory']['imports']>['problem']>;
