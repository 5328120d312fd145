// Declares the operations that upload and remove the picture of a user, and the logo of a client or a connection (federation F110).
import { z } from 'zod';
import { imageChanges } from '../../domain/administration/images.ts';
import { refusal, rule } from '../../oauth/refusals.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { maxPictureSize, type Picture, readPicture } from '../../rules/images/picture.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Store } from '../../repositories/store.ts';
import { findConnection } from './connections.ts';
import { findClient } from './clients.ts';
import { byId, bySub, operation, type OperationContext } from './operation.ts';
import { findUser } from './users.ts';

/** Bytes of a body: an image in base64. */
const bodyLimit = 2 * maxPictureSize;

const base64 = z.base64(rule('picture')).max(Math.ceil(maxPictureSize / 3) * 4, rule('picture-size'));
const says = 'A PNG, JPEG or WebP image of at most 1 MiB and 4096 x 4096 pixels, in base64.';

/** The image that was uploaded. @throws OAuthError invalid_request */
export function pictureIn(content: Buffer, member: string): Picture {
  const read = readPicture(content);
  if (typeof read === 'string') throw invalidRequest(refusal(read, member));
  return read;
}

interface Uploaded {
  uri: string;
  type: string;
  size: number;
}

/** Whose image it is. */
interface Kind<One> {
  noun: 'user' | 'client' | 'connection';
  /** The permission, the tag and the part of the path. */
  section: 'users' | 'clients' | 'connections';
  param: 'sub' | 'id';
  params: z.ZodObject;
  member: 'picture' | 'logo';
  summaries: { set: string; remove: string };
  /** @param image undefined removes it @returns the address of the image */
  change(context: OperationContext, by: Actor, id: string, image: Picture | undefined): Promise<string | undefined>;
  find(store: Store, id: string): Promise<One>;
  removed: { text(one: One): string; json(one: One): object };
}

/** Declares the operations that upload and remove the image of one kind. */
function imageOf<One>({ noun, section, param, params, member, summaries, change, find, removed }: Kind<One>) {
  const of = {
    permission: section,
    tag: section,
    params,
    path: `/admin/api/${section}/:${param}/${member}`,
  } as const;
  const idIn = (given: Record<string, unknown>) => String(given[param]);
  return {
    section,
    param,
    member,
    set: operation({
      method: 'POST',
      ...of,
      summary: summaries.set,
      input: () => z.strictObject({ [member]: base64.describe(says) }),
      bodyLimit,
      answer: 'UploadedImage',
      async handler(context, { params: given, input, actor }): Promise<Uploaded> {
        const image = pictureIn(Buffer.from(input[member]!, 'base64'), member);
        const uri = (await change(context, actor, idIn(given), image))!;
        return { uri, type: `image/${image.type}`, size: image.content.length };
      },
      command: {
        name: `${noun} set-${member}`,
        options: { [`${member}-file`]: member },
        text: ({ uri, type, size }) => `Stored ${type}, ${size} bytes, at ${uri}.`,
      },
    }),
    remove: operation({
      method: 'DELETE',
      ...of,
      summary: summaries.remove,
      async handler(context, { params: given, actor }) {
        await change(context, actor, idIn(given), undefined);
        return find(context.store, idIn(given));
      },
      command: { name: `${noun} remove-${member}`, ...removed },
    }),
  };
}

export const images = {
  user: imageOf({
    noun: 'user',
    section: 'users',
    param: 'sub',
    params: bySub,
    member: 'picture',
    summaries: {
      set: 'Uploads the picture of a user, which becomes the claim picture; metadata in the file is removed',
      remove: 'Removes the picture of a user, even if it is at another address',
    },
    change: ({ store, config }, by, sub, picture) => imageChanges(store).changePicture(by, config.issuer, sub, picture),
    find: findUser,
    removed: { text: ({ username }) => `The user ${username} has no picture now.`, json: ({ sub }) => ({ sub }) },
  }),
  client: imageOf({
    noun: 'client',
    section: 'clients',
    param: 'id',
    params: byId,
    member: 'logo',
    summaries: {
      set: 'Uploads the logo of a client, which pages show in place of its logo_uri',
      remove: 'Removes the uploaded logo of a client; pages show its logo_uri again',
    },
    async change({ store, clients, config }, by, id, logo) {
      const path = await imageChanges(store).changeClientLogo(by, id, logo);
      clients.forget(id);
      return path && config.issuer + path;
    },
    find: findClient,
    removed: {
      text: ({ clientId }) => `The client ${clientId} has no uploaded logo now.`,
      json: ({ clientId }) => ({ client_id: clientId }),
    },
  }),
  connection: imageOf({
    noun: 'connection',
    section: 'connections',
    param: 'id',
    params: z.object({ id: text(40) }),
    member: 'logo',
    summaries: {
      set: 'Uploads the logo of a connection, which its button shows in place of the mark of the provider',
      remove: 'Removes the uploaded logo of a connection',
    },
    async change({ store, config }, by, id, logo) {
      const path = await imageChanges(store).changeConnectionLogo(by, id, logo);
      return path && config.issuer + path;
    },
    find: findConnection,
    removed: { text: ({ id }) => `The connection ${id} has no uploaded logo now.`, json: ({ id }) => ({ id }) },
  }),
};

export const imageOperations = Object.values(images).flatMap(({ set, remove }) => [set, remove]);
