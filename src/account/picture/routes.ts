// Serves GET|POST /account/profile/picture: the user uploads or removes the own picture (pages, a picture of oneself).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createAccountPages, type AccountSession } from '../account-pages.ts';
import { ownedOf } from '../owned.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { imageChanges } from '../../domain/administration/images.ts';
import { notFound } from '../../oauth/errors.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { Store } from '../../repositories/store.ts';
import { maxPictureSize, readPicture } from '../../rules/images/picture.ts';
import { fileOf, withUploads } from '../../server/file-upload.ts';

const profilePath = '/account/profile';
const path = `${profilePath}/picture`;
const shape = z.object({ act: z.enum(['save', 'remove']).default('save') });

interface AccountPictureDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
}

export async function accountPictureEndpoint(app: FastifyInstance, options: AccountPictureDependencies): Promise<void> {
  const { config, store, sessions, pages } = options;
  const account = createAccountPages(options);
  const images = imageChanges(store);

  account.page(app, path, async (own) => {
    await demand(own);
    return show(own);
  });

  await withUploads(
    app,
    {
      maxFile: maxPictureSize,
      isAllowed: async (request, reply) => (await sessions.find(request, reply)) !== undefined,
      refuse: (reply) => pages.redirect(reply, '/login'),
    },
    (scope) =>
      account.form(scope, path, shape, async (own, { act }, request) => {
        await demand(own);
        const { sub } = own.session.user;
        if (act === 'remove') {
          await images.changePicture(own.by, config.issuer, sub, undefined);
          return own.done(profilePath, 'picture-removed');
        }
        const file = fileOf(request);
        const picture = file ? readPicture(file) : 'missing';
        if (typeof picture === 'string') return show(own, picture);
        await images.changePicture(own.by, config.issuer, sub, picture);
        return own.done(profilePath, 'picture-saved');
      }),
  );

  /** @throws OAuthError where users upload no pictures, or where a connection owns that of this user (federation 4) */
  async function demand({ session: { user } }: AccountSession): Promise<void> {
    if (!config.profilePictures || (await ownedOf(store, user))['picture'] !== undefined)
      throw notFound('users cannot change this picture here');
  }

  const show = (own: AccountSession, fault?: Pages['account-picture']['fault']) =>
    own.send(
      'account-picture',
      {
        form: own.form(path),
        profileUri: profilePath,
        present: own.session.user.claims['picture'] !== undefined,
        ...(fault && { fault }),
      },
      { status: fault ? 400 : 200 },
    );
}
