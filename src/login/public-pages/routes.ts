// Serves the assets of the pages, and the page to which clients may send browsers: /error.
import type { FastifyInstance } from 'fastify';
import { type AppearanceService, brandPath } from '../../domain/appearance/appearance.ts';
import { notFound } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { previewStylesheet } from '../../pages/preview.ts';
import type { PageRenderer } from '../../pages/renderer.ts';
import { z } from 'zod';
import { readParameters } from '../../server/parameters.ts';
import type { PageResponses } from '../../pages/page-response.ts';

/** For an address that contains a digest of its content. */
const forEver = 'public, max-age=31536000, immutable';
const brandFile = z.object({ file: text(100) });

interface PagesDependencies {
  renderer: PageRenderer;
  appearance: Pick<AppearanceService, 'file'>;
  pages: PageResponses;
}

export async function pagesEndpoint(
  app: FastifyInstance,
  { pages, renderer, appearance }: PagesDependencies,
): Promise<void> {
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  for (const asset of renderer.assets.values()) {
    app.get(asset.path, { exposeHeadRoute: true }, (_request, reply) =>
      reply.header('cache-control', forEver).type(asset.contentType).send(asset.body),
    );
  }

  app.get(`${brandPath}/:file`, { exposeHeadRoute: true }, async (request, reply) => {
    const { file: name } = readParameters(brandFile, request.params);
    const preview = previewStylesheet(renderer, name);
    if (preview !== undefined)
      return reply.header('cache-control', 'no-cache').type('text/css; charset=utf-8').send(preview);
    const file = await appearance.file(name);
    if (!file) throw notFound('there is no such file');
    return reply.header('cache-control', forEver).type(file.contentType).send(file.content);
  });

  app.get('/error', (request, reply) =>
    pages.send(request, reply, 'error', { kind: 'request', reference: '' }, { status: 400 }),
  );
}
