// Serves the console's pages that upload and remove the picture of a user, and the logo of a client or a connection (federation F110).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BrowserSessions } from '../../../browser/session.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { maxClientId } from '../../../oauth/client-document.ts';
import type { PageResponses } from '../../../pages/page-response.ts';
import type { ConsoleImagePages } from '../../../pages/views/console-images.ts';
import { logoOf, ownImage } from '../../../rules/images/address.ts';
import { maxPictureSize, readPicture } from '../../../rules/images/picture.ts';
import { fileOf, withUploads } from '../../../server/file-upload.ts';
import { readParameters, singleValued, text } from '../../../server/parameters.ts';
import { z } from 'zod';
import { showClient } from '../../operations/clients.ts';
import { showConnection } from '../../operations/connections.ts';
import { images } from '../../operations/images.ts';
import { showUser } from '../../operations/users.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { submittedForms } from '../submitted-form.ts';

type Page = ConsoleImagePages['console-image'];

/** What the page shows of the one whose image it changes. */
type Find = (admin: AdminSession, id: string) => Promise<Omit<Page['of'], 'uri'> & { present: boolean }>;

const finds: Record<Page['kind'], Find> = {
  async user(admin, sub) {
    const { username, claims } = await admin.run(showUser, { sub });
    const { name, picture } = claims;
    const shown = typeof name === 'string' && name !== '' ? name : username;
    return { id: sub, name: shown, image: ownImage(picture), present: picture !== undefined };
  },
  async client(admin, id) {
    const client = await admin.run(showClient, { id });
    const image = logoOf(client);
    return { id, name: displayName(id, client.metadata), image, present: image !== undefined };
  },
  async connection(admin, id) {
    const connection = await admin.run(showConnection, { id });
    const image = logoOf(connection);
    return { id, name: connection.displayName, image, present: image !== undefined };
  },
};
const kinds = ['user', 'client', 'connection'] as const satisfies readonly Page['kind'][];

const byParam = { id: z.object({ id: text(maxClientId) }), sub: z.object({ sub: text(255) }) };

interface ImageDependencies {
  console: Console;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function consoleImagesEndpoint(
  app: FastifyInstance,
  { console, sessions, pages }: ImageDependencies,
): Promise<void> {
  const submitted = submittedForms(console);
  // the service reads such a long form from administrators only
  const uploads: Parameters<typeof withUploads>[1] = {
    maxFile: maxPictureSize,
    isAllowed: async (request, reply) => (await sessions.find(request, reply))?.user.admin === true,
    refuse: (reply) => pages.redirect(reply, '/admin'),
  };

  for (const kind of kinds) {
    const { section, param, member, set, remove } = images[kind];
    const pageOf = (id: string) => `/admin/${section}/${id}`;
    const route = `${pageOf(`:${param}`)}/image`;
    const idOf = ({ params }: FastifyRequest): string =>
      param === 'id' ? readParameters(byParam.id, params).id : readParameters(byParam.sub, params).sub;
    const pathOf = (id: string) => pageOf(encodeURIComponent(id));

    const show = async (admin: AdminSession, id: string, fault?: Page['fault']) => {
      const { present, ...of } = await finds[kind](admin, id);
      const data = {
        kind,
        of: { ...of, uri: pathOf(id) },
        present,
        form: admin.form(`${pathOf(id)}/image`),
        ...(fault && { fault }),
      };
      return admin.send('console-image', data, { section, status: fault ? 400 : 200 });
    };

    console.page(app, route, (admin, request) => show(admin, idOf(request)), { needs: set, fresh: true });

    await withUploads(app, uploads, (scope) => {
      scope.post(route, async (request, reply) => {
        const id = idOf(request);
        const form = await submitted(request, reply, `${pathOf(id)}/image`, set);
        if (!form) return reply;
        const { admin } = form;
        if (singleValued(request.body)['act'] === 'remove') {
          await admin.run<Record<string, unknown>, Record<string, unknown>, unknown>(remove, { [param]: id });
          return admin.done(pathOf(id), 'image-removed');
        }
        const file = fileOf(request);
        const picture = file ? readPicture(file) : 'missing';
        if (typeof picture === 'string') return show(admin, id, picture);
        await admin.run(set, { [param]: id }, { [member]: picture.content.toString('base64') });
        return admin.done(pathOf(id), 'image-saved');
      });
    });
  }
}
