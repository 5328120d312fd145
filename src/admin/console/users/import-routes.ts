// Serves GET|POST /admin/users/import and GET /admin/users/import/{id}: checks a file of users, and then imports it.
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AdminSession, Console } from '../admin-session.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import { HeadProblem } from '../../../domain/users/user-records.ts';
import type { ConsoleFrame } from '../../../pages/views/console.ts';
import type { ConsoleUsersPages } from '../../../pages/views/console-users.ts';
import { notFound } from '../../../oauth/errors.ts';
import { userColumns } from '../../../rules/users/user-record.ts';
import { type CheckResult, type ImportInput, type Imports, linesOf } from '../../operations/pages/user-imports.ts';
import { listPath } from './view.ts';
import type { BrowserSessions } from '../../../browser/session.ts';
import type { PageResponses } from '../../../pages/page-response.ts';

const path = `${listPath}/import`;
/** The maximum length of the text, in characters: some ten thousand users. */
const maxText = 1_000_000;
/** Bytes: percent-encoding makes three of each byte, and a character may have several bytes. */
const bodyLimit = 8 * 1024 * 1024;
const section = 'users';
const checkTimeout = 10 * 60_000; // milliseconds
/** Lines that take about a second; the page shows the progress of a longer check. */
const shortCheck = 1000;
/** How often the page shows the progress of a check, at most. */
const maxSteps = 100;
const refreshInterval = 2; // seconds

const sent = z.object({
  csrf: text(100).optional(),
  checked: text(100).optional(),
  id: z.uuid(),
  act: z.enum(['check', 'import']).default('check'),
});
const byId = z.object({ id: z.string() });

type Page = Omit<ConsoleUsersPages['console-users-import'], keyof ConsoleFrame>;
type Shown = Pick<Page, 'result' | 'problem' | 'head'>;

interface ImportRoutesDependencies {
  sessions: BrowserSessions;
  pages: PageResponses;
  console: Console;
  imports: Imports;
}

export async function userImportRoutes(app: FastifyInstance, options: ImportRoutesDependencies): Promise<void> {
  const { imports, console, sessions } = options;

  console.page(
    app,
    path,
    (admin) => {
      const page = pageOf(admin, randomUUID());
      return admin.send('console-users-import', page, { section });
    },
    { fresh: true, needs: imports.check },
  );

  // the service reads such a long form from administrators only
  const onlyAdministrators = async (request: FastifyRequest, reply: FastifyReply) =>
    (await sessions.find(request, reply))?.user.admin ? undefined : options.pages.redirect(reply, path);

  app.post(path, { bodyLimit, handlerTimeout: checkTimeout, onRequest: onlyAdministrators }, async (request, reply) => {
    const { csrf, checked, id, act } = readParameters(sent, request.body);
    const admin = await console.submitted(request, reply, {
      csrf,
      action: path,
      shown: id,
      back: path,
      fresh: true,
      needs: imports.begin,
    });
    if (!admin) return reply;
    const body = singleValued(request.body);
    const input = readInput(body);
    const again = (shown: Shown, status: number) => {
      const page = { ...pageOf(admin, id, input), ...shown };
      return admin.send('console-users-import', page, { section, status });
    };
    if (input.text.trim() === '') return again({ problem: 'missing' }, 400);
    if (input.text.length > maxText) return again({ problem: 'long' }, 413);
    // the import must be what this administrator has checked
    const shown = digestOf(id, input);
    const own = sessions.isOwnForm(request, checked, { action: path, shown, session: admin.session });
    if (act === 'import' && own) {
      if (await admin.run(imports.begin, { id, input })) return options.pages.redirect(reply, `${path}/${id}`);
      return again({ problem: 'busy' }, 409);
    }
    const check = await admin.run(imports.check, input);
    const status = act === 'import' ? 409 : 200;
    const page: Page = {
      ...pageOf(admin, id, input, { confirmed: true }),
      ...(act === 'import' && { problem: 'changed' }),
    };
    try {
      let next = await check.next();
      const lines = linesOf(input.text);
      if (!next.done && lines > shortCheck) {
        const first = stepOf(page, next.value, lines);
        const steps = stepsOf(check, page, lines, app.log);
        return admin.sendSteps('console-users-import', first, steps, { section, status });
      }
      while (!next.done) next = await check.next();
      const result = next.value;
      return admin.send('console-users-import', { ...page, result }, { section, status });
    } catch (error) {
      if (!(error instanceof HeadProblem)) throw error;
      const { kind, column } = error;
      return again({ problem: 'head', head: { kind, column, columns: userColumns } }, 400);
    }
  });

  const showImport = async (admin: AdminSession, request: FastifyRequest, reply: FastifyReply) => {
    const id = z.uuid().safeParse(readParameters(byId, request.params).id);
    const found = id.success ? await admin.run(imports.find, id.data) : undefined;
    if (!found) throw notFound('there is no such import: results are kept for a week');
    if (found.state === 'running') reply.header('refresh', String(refreshInterval));
    const { state, lines, line, created, updated, unchanged, refused, refusals, notes, startedAt } = found;
    return admin.send(
      'console-users-import-status',
      {
        state,
        lines,
        line,
        startedAt,
        result: { counts: { created, updated, unchanged, refused }, refusals, notes },
        uri: `${path}/${found.id}`,
      },
      { section },
    );
  };

  console.page(app, `${path}/:id`, showImport, { needs: imports.find });

  /** @param input what was sent, which the page shows again @param demands.confirmed whether the page can start the import */
  function pageOf(admin: AdminSession, id: string, input?: ImportInput, demands: { confirmed?: boolean } = {}): Page {
    const form = admin.form(path, id);
    form.hidden['id'] = id;
    if (input && demands.confirmed)
      form.hidden['checked'] = sessions.formToken(admin.request, admin.reply, {
        action: path,
        shown: digestOf(id, input),
        session: admin.session,
      });
    const { text = '', update = false, admins = false, trustConfirmations = false } = input ?? {};
    return { form, typed: text.length > maxText ? '' : text, update, admins, trustConfirmations, most: maxText };
  }
}

/** The page that shows the progress of a check; only the last page repeats the typed text. */
const stepOf = (page: Page, line: number, lines: number): Page => ({ ...page, typed: '', checking: { line, lines } });

/** Yields the page with the progress of the check, and returns the page with its result. */
async function* stepsOf(
  check: AsyncGenerator<number, CheckResult>,
  page: Page,
  lines: number,
  log: { warn(line: object, message: string): void },
): AsyncGenerator<Page, Page> {
  try {
    for (let said = 0; ;) {
      const next = await check.next();
      if (next.done) return { ...page, result: next.value };
      if (next.value - said < lines / maxSteps) continue;
      said = next.value;
      yield stepOf(page, said, lines);
    }
  } catch (error) {
    log.warn({ err: error }, 'the preview of a user import failed');
    return { ...page, problem: 'interrupted' };
  }
}

/** Reads the input from a form, whose lines end with CR LF. */
function readInput(body: Record<string, string>): ImportInput {
  const text = (body['users'] ?? '').replace(/\r\n?/g, '\n');
  return {
    text,
    format: /^\s*\{/.test(text) ? 'jsonl' : 'csv',
    update: body['update'] === 'true',
    admins: body['with_admins'] === 'true',
    trustConfirmations: body['trust_confirmations'] === 'true',
  };
}

const digestOf = (id: string, input: ImportInput): string =>
  createHash('sha256')
    .update(JSON.stringify([id, input.update, input.admins, input.trustConfirmations, input.text]))
    .digest('base64url');
