// Serves the console's page that takes over what a set of configuration files keeps, after a page that says what follows.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { text } from '../../../oauth/text.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { findKept, takeOver } from '../../operations/config/take-over.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { takeOverPath, takeOverUri } from '../kept-by-files.ts';
import { isTypedName } from '../typed-name.ts';

const asked = z.object({
  section: text(63),
  key: text(2000),
  // a page of the console, never another site
  back: text(2000).regex(/^\/admin(\/[^\s?#\\/]+)*$/),
});
type Asked = z.infer<typeof asked>;

export async function takeOverRoutes(app: FastifyInstance, { console }: { console: Console }): Promise<void> {
  console.page(app, takeOverPath, (admin, request) => show(admin, readParameters(asked, request.query)), {
    needs: takeOver,
  });

  app.post(takeOverPath, async (request, reply) => {
    const { csrf, typed = '', section = '', key = '', back: from = '' } = singleValued(request.body);
    const back = takeOverUri({ section, key, back: from });
    const form = { csrf, action: takeOverPath, shown: back, back, fresh: true, needs: takeOver };
    const admin = await console.submitted(request, reply, form);
    if (!admin) return reply;
    const given = readParameters(asked, request.body);
    if (!isTypedName(typed, given.key)) return show(admin, given, typed);
    const { back: page, ...one } = given;
    await admin.run(takeOver, {}, one);
    return admin.done(page, 'taken-over');
  });

  async function show(admin: AdminSession, given: Asked, typed?: string) {
    const { fileSet, noun } = await admin.run(findKept, given);
    const { permission } = noun.of;
    const form = admin.form(takeOverPath, takeOverUri(given));
    return admin.send(
      'console-take-over',
      {
        name: given.key,
        files: fileSet,
        uri: given.back,
        form: { ...form, hidden: { ...form.hidden, ...given } },
        ...(typed !== undefined && { typed: typed.slice(0, 255), problem: 'typed' as const }),
      },
      { section: permission === 'claims' ? 'attributes' : permission, status: typed === undefined ? 200 : 400 },
    );
  }
}
