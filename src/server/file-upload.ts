// Reads forms that send one file beside their fields, at the addresses that take one: everywhere else a form with a file is refused (security R106).
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';

/** The most bytes of a request that is read at all. A file above its own limit is read to its end, so that the page can say what is wrong. */
const maxRequest = 32 * 1024 * 1024;
const limits = { files: 1, fields: 16, parts: 17, fieldNameSize: 64, fieldSize: 2000, headerPairs: 16 };

const takesFile = new WeakSet<FastifyRequest>();
const files = new WeakMap<FastifyRequest, Buffer>();

/** Whether the route of a request takes a form with a file, and the request sends one. */
export const sendsFile = (request: FastifyRequest): boolean =>
  takesFile.has(request) && /^multipart\/form-data *;/i.test(request.headers['content-type'] ?? '');

/** The file of a request, if the user chose one. Above the limit of its size it is cut off, and longer than the limit. */
export const fileOf = (request: FastifyRequest): Buffer | undefined => files.get(request);

interface Uploads {
  /** The most bytes of the file. */
  maxFile: number;
  /** Whether the service reads what a request sends. */
  isAllowed(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
  /** Answers a request that is not read. */
  refuse(reply: FastifyReply): FastifyReply;
}

/** Registers routes whose forms send a file: the handler finds the fields in `request.body`, as with every form, and the file by fileOf(). */
export async function withUploads(
  app: FastifyInstance,
  { maxFile, isAllowed, refuse }: Uploads,
  routes: (scope: FastifyInstance) => void,
): Promise<void> {
  await app.register(async (scope) => {
    await scope.register(multipart, { limits: { ...limits, fileSize: maxFile + 1 }, throwFileSizeLimit: false });
    scope.addHook('onRequest', async (request, reply) => {
      if (request.method !== 'POST') return undefined;
      takesFile.add(request);
      const length = Number(request.headers['content-length'] ?? Infinity);
      if (length > maxRequest) throw new OAuthError('invalid_request', 'the request is too large', 413);
      return (await isAllowed(request, reply)) ? undefined : refuse(reply);
    });
    scope.addHook('preValidation', async (request) => {
      if (request.isMultipart()) request.body = await readForm(request);
    });
    routes(scope);
  });
}

/** @returns the fields as a form in a body has them: a repeated one is a list */
async function readForm(request: FastifyRequest): Promise<Record<string, string | string[]>> {
  const fields = new Map<string, string[]>();
  try {
    for await (const part of request.parts()) {
      if (part.type === 'file') {
        const content = await part.toBuffer();
        if (content.length > 0) files.set(request, content);
        continue;
      }
      const value = String(part.value);
      if (part.valueTruncated || part.fieldnameTruncated || value.includes('\ufffd'))
        throw invalidRequest('a field of the form is too long, or no UTF-8');
      fields.set(part.fieldname, [...(fields.get(part.fieldname) ?? []), value]);
    }
  } catch (error) {
    if (error instanceof OAuthError) throw error;
    throw new OAuthError('invalid_request', 'the body is no form with one file', 400, { cause: error });
  }
  return Object.fromEntries([...fields].map(([name, values]) => [name, values.length === 1 ? values[0]! : values]));
}
