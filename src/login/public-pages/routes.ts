// Serves the assets of the pages, the pages to which clients may send browsers (/error) and developers (/errors), and a page again in another language (POST /language).
import type { FastifyInstance } from 'fastify';
import { type AppearanceService, brandPath } from '../../domain/appearance/appearance.ts';
import { errorMeanings, errorsPath } from '../../oauth/error-meanings.ts';
import { errorCodes, notFound } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { previewStylesheet } from '../../pages/preview.ts';
import type { PageRenderer } from '../../pages/renderer.ts';
import type { Store } from '../../repositories/store.ts';
import { imagePath, readFileName } from '../../rules/images/address.ts';
import { z } from 'zod';
import { readParameters } from '../../server/parameters.ts';
import { languagePath, type PageResponses } from '../../pages/page-response.ts';
import { onlyOwnSite } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { onlyForms } from '../../server/form-body.ts';

/** For an address that contains a digest of its content. */
const forEver = 'public, max-age=31536000, immutable';
const language = z.object({ shown: text(60_000), locale: text(35) });
const brandFile = z.object({ file: text(100) });

interface PagesDependencies {
  store: Pick<Store, 'images'>;
  renderer: PageRenderer;
  appearance: Pick<AppearanceService, 'file'>;
  pages: PageResponses;
  config: Pick<Config, 'issuer'>;
}

export async function pagesEndpoint(
  app: FastifyInstance,
  { store, pages, renderer, appearance, config }: PagesDependencies,
): Promise<void> {
  const { origin } = new URL(config.issuer);
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

  app.get(`${imagePath}/:file`, { exposeHeadRoute: true }, async (request, reply) => {
    const named = readFileName(readParameters(brandFile, request.params).file);
    const image = named && (await store.images.find(named.key));
    if (!image || image.type !== named.type) throw notFound('there is no such file');
    return reply
      .header('cache-control', forEver)
      .header('content-security-policy', `default-src 'none'; sandbox`)
      .type(`image/${image.type}`)
      .send(image.content);
  });

  // a form of another site must show nothing here, and change no setting of this browser
  await app.register(async (forms) => {
    await onlyForms(forms);
    forms.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));
    forms.post(languagePath, (request, reply) => {
      onlyOwnSite(request, origin);
      const { shown, locale } = readParameters(language, request.body);
      return pages.sendAgain(request, reply, shown, locale);
    });
  });

  app.get('/error', (request, reply) =>
    pages.send(request, reply, 'error', { kind: 'request', reference: '' }, { status: 400 }),
  );

  const codes = errorCodes.map((code) => ({ code, meaning: errorMeanings[code].split('`') }));
  app.get(errorsPath, (request, reply) => pages.send(request, reply, 'error-codes', { codes }));
}
