// What a person may do with the own data as a whole: the download of all of it.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAccountDoor } from '../../http/account-door.ts';
import { ownData as ownDataPage, ownDeletion } from '../../http/destination.ts';
import { noStore } from '../../http/errors.ts';
import { onlyForms } from '../../http/form-body.ts';
import { freshSignInPath, isFresh } from '../../http/fresh-sign-in.ts';
import { readParameters, text } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import { ownData } from './document.ts';

const path = ownDataPage.path;

const plain = z.object({ csrf: text(100) });

export async function accountDataEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { config, store, pages, audit } = options;
  const door = createAccountDoor(options);
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get(path, async (request, reply) => {
    const session = await door.enter(request, reply);
    if (!session) return reply;
    return door.send(request, reply, session, 'account-data', {
      form: door.form(request, reply, session, path),
      ...(config.accountDeletion && { deleteUri: ownDeletion.path }),
    });
  });

  app.post(path, async (request, reply) => {
    const { csrf } = readParameters(plain, request.body);
    const session = await door.submitted(request, reply, { csrf, action: path });
    if (!session) return reply;
    // a browser that was left open hands out nothing
    if (!isFresh(session)) return pages.redirect(reply, freshSignInPath(session, ownDataPage));
    const { user } = session;
    await audit(request, { type: 'user.data_downloaded', outcome: 'success', actor: user.sub, sub: user.sub });
    return noStore(reply)
      .header('content-disposition', 'attachment; filename="account.json"')
      .type('application/json; charset=utf-8')
      .send(Readable.from(ownData(store, config.issuer, user)));
  });
}
