// Changes the pictures of users and the logos of clients and connections, a part of administration.ts.
import { randomId } from '../../crypto/secrets.ts';
import { notFound } from '../../oauth/errors.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import { clientEvent, userEvent } from '../../repositories/audit/audit-diff.ts';
import type { Store } from '../../repositories/store.ts';
import { fileNameOf, imagePath } from '../../rules/images/address.ts';
import type { Picture } from '../../rules/images/picture.ts';
import { withoutNulls } from '../users/attributes.ts';

export const imageChanges = (store: Store) => ({
  /** @param picture undefined removes it, also one that is elsewhere @returns the value of the claim @throws OAuthError not_found */
  changePicture: (by: Actor, issuer: string, sub: string, picture: Picture | undefined): Promise<string | undefined> =>
    store.transaction(async ({ users, images, auditEvents }) => {
      const before = await users.lock(sub);
      if (!before) throw notFound('there is no such user');
      const key = randomId();
      const address = picture && `${issuer}${imagePath}/${fileNameOf(key, picture.type)}`;
      await images.put({ sub }, key, picture);
      const claims = withoutNulls({ ...before.claims, picture: address ?? null });
      const event = userEvent(before, (await users.update(sub, { claims }))!);
      if (event) await auditEvents.insert({ ...event, ...by, outcome: 'success' });
      return address;
    }),
  /** @returns the path of the logo below the base address @throws OAuthError not_found */
  changeClientLogo: (by: Actor, clientId: string, logo: Picture | undefined): Promise<string | undefined> =>
    store.transaction(async ({ clients, images, auditEvents }) => {
      const before = await clients.lock(clientId);
      if (!before) throw notFound(`there is no client ${clientId}`);
      const key = randomId();
      const name = logo && fileNameOf(key, logo.type);
      await images.put({ clientId }, key, logo);
      await images.nameLogo({ clientId }, name);
      const event = clientEvent(before, (await clients.lock(clientId))!);
      if (event) await auditEvents.insert({ ...event, ...by, outcome: 'success' });
      return name && `${imagePath}/${name}`;
    }),
  /** @returns the path of the logo below the base address @throws OAuthError not_found */
  changeConnectionLogo: (by: Actor, connectionId: string, logo: Picture | undefined): Promise<string | undefined> =>
    store.transaction(async ({ connections, images, auditEvents }) => {
      const before = connectionId.includes('\0') ? undefined : await connections.lock(connectionId);
      if (!before) throw notFound('there is no such connection');
      const key = randomId();
      const name = logo && fileNameOf(key, logo.type);
      await images.put({ connectionId }, key, logo);
      if (before.logo !== name) {
        await images.nameLogo({ connectionId }, name);
        const detail = { connection: connectionId, members: ['logo'] };
        await auditEvents.insert({ ...by, type: 'connection.changed', outcome: 'success', detail });
      }
      return name && `${imagePath}/${name}`;
    }),
});
