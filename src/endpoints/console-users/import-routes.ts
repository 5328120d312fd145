// GET and POST /admin/users/import, GET /admin/users/import/{id}: users of a file that is checked first and then imported, row by row.
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ConsoleVisit } from '../../http/console.ts';
import { readParameters, singleValued, text } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import type { ConsoleUsersPages } from '../../http/views/console-users.ts';
import { notFound, OAuthError } from '../../oauth/errors.ts';
import type { Administration } from '../../repositories/administration.ts';
import { createImports, type ImportOrder } from './import-runner.ts';
import { listPath } from './view.ts';

const path = `${listPath}/import`;
/** Characters of a text that is pasted or read from a file: some ten thousand users. */
const longestText = 1_000_000;
/** Bytes of the form: percent-encoding makes three of one, and a letter may have several. */
const bodyLimit = 8 * 1024 * 1024;
const longestCheck = 60_000; // milliseconds
const lookAgain = 2; // seconds

const sent = z.object({
  csrf: text(100).optional(),
  checked: text(100).optional(),
  id: z.uuid(),
  act: z.enum(['check', 'import']).default('check'),
});
const byId = z.object({ id: z.string() });

type Shown = Pick<ConsoleUsersPages['console-users-import'], 'result' | 'problem' | 'reason'>;

export function importRoutes(app: FastifyInstance, options: ServerOptions, administration: Administration): void {
  const { store, console, sessions } = options;
  const imports = createImports({ store, administration }, app.log);
  app.addHook('onClose', () => imports.stop());

  app.get(path, async (request, reply) => {
    const visit = await console.enter(request, reply, { fresh: true });
    return visit ? show(request, reply, visit, randomUUID(), undefined, {}) : reply;
  });

  // so long a form is read of administrators only
  const onlyAdministrators = async (request: FastifyRequest, reply: FastifyReply) =>
    (await sessions.find(request, reply))?.user.admin ? undefined : options.pages.redirect(reply, path);

  app.post(path, { bodyLimit, handlerTimeout: longestCheck, onRequest: onlyAdministrators }, async (request, reply) => {
    const { csrf, checked, id, act } = readParameters(sent, request.body);
    const visit = await console.submitted(request, reply, { csrf, action: path, shown: id, back: path, fresh: true });
    if (!visit) return reply;
    const body = singleValued(request.body);
    const order = orderOf(body);
    const again = (shown: Shown, status: number) => show(request, reply, visit, id, order, shown, status);
    if (order.text.trim() === '') return again({ problem: 'missing' }, 400);
    if (order.text.length > longestText) return again({ problem: 'long' }, 413);
    // what is imported is what was checked, and by this person
    const shown = digestOf(id, order);
    const own = sessions.isOwnForm(request, checked, { action: path, shown, session: visit.session });
    if (act === 'import' && own) {
      if (await imports.begin(id, visit.by, order)) return options.pages.redirect(reply, `${path}/${id}`);
      return again({ problem: 'busy' }, 409);
    }
    try {
      const result = await imports.check(visit.by, order);
      return again({ result, ...(act === 'import' && { problem: 'changed' }) }, act === 'import' ? 409 : 200);
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error;
      return again({ problem: 'head', reason: error.description }, 400);
    }
  });

  app.get(`${path}/:id`, async (request, reply) => {
    const visit = await console.enter(request, reply);
    if (!visit) return reply;
    const id = z.uuid().safeParse(readParameters(byId, request.params).id);
    const found = id.success ? await store.userImports.find(id.data) : undefined;
    if (!found) throw notFound('there is no such import: how one went is kept for a week');
    if (found.state === 'running') reply.header('refresh', String(lookAgain));
    const { state, lines, line, created, updated, unchanged, refused, refusals, startedAt } = found;
    return console.send(
      request,
      reply,
      visit,
      'console-users-import-status',
      {
        ...{ state, lines, line, startedAt },
        result: { counts: { created, updated, unchanged, refused }, refusals },
        uri: `${path}/${found.id}`,
      },
      { section: 'users' },
    );
  });

  /** @param order what was sent, which stays */
  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: ConsoleVisit,
    id: string,
    order: ImportOrder | undefined,
    shown: Shown,
    status = 200,
  ): FastifyReply {
    const form = console.form(request, reply, visit, path, id);
    form.hidden['id'] = id;
    if (order && shown.result)
      form.hidden['checked'] = sessions.formToken(request, reply, {
        ...{ action: path, shown: digestOf(id, order), session: visit.session },
      });
    const { text = '', update = false, admins = false } = order ?? {};
    return console.send(
      request,
      reply,
      visit,
      'console-users-import',
      { form, typed: text.length > longestText ? '' : text, update, admins, most: longestText, ...shown },
      { section: 'users', status },
    );
  }
}

/** As a form sends it, lines end with CR LF. */
function orderOf(body: Record<string, string>): ImportOrder {
  const text = (body['users'] ?? '').replace(/\r\n?/g, '\n');
  return {
    text,
    format: /^\s*\{/.test(text) ? 'jsonl' : 'csv',
    update: body['update'] === 'true',
    admins: body['with_admins'] === 'true',
  };
}

const digestOf = (id: string, order: ImportOrder): string =>
  createHash('sha256')
    .update(JSON.stringify([id, order.update, order.admins, order.text]))
    .digest('base64url');
