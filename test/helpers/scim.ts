// Plays a directory that writes users and groups by SCIM: makes sources, and sends requests with their tokens.
import { call, type Answer } from './grants.ts';
import type { TestService } from './service.ts';

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

export type Resource = Record<string, unknown> & { id: string };

export interface Directory {
  id: string;
  token: string;
  base: string;
  send(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  /** @throws if the answer has another status */
  user(values: Record<string, unknown>): Promise<Resource>;
  group(displayName: string, members?: readonly string[]): Promise<Resource>;
  patch(path: string, ...operations: object[]): Promise<Answer>;
  find(path: string): Promise<Resource>;
}

/** Makes a source with a token. @param values further members of the source */
export async function startDirectory(
  service: TestService,
  admin: string,
  id: string,
  values: Record<string, unknown> = {},
): Promise<Directory> {
  const api = `${service.issuer}/admin/api/scim-sources`;
  const made = await call(api, { token: admin, body: { id, name: id, ...values } });
  if (made.status !== 201) throw new Error(`the source was refused: ${JSON.stringify(made.body)}`);
  const { body } = await call(`${api}/${id}/tokens`, { method: 'POST', token: admin });
  return directoryOf(`${service.issuer}/scim/v2/${id}`, id, String(body['token']));
}

export function directoryOf(base: string, id: string, token: string): Directory {
  const send: Directory['send'] = (method, path, body, headers) =>
    call(base + path, {
      method,
      token,
      ...(body && { body }),
      headers: { ...(body && { 'content-type': 'application/scim+json' }), ...headers },
    });
  const expectStatus = ({ status, body }: Answer, wanted: number): Resource => {
    if (status !== wanted) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body as Resource;
  };
  return {
    id,
    token,
    base,
    send,
    user: async (values) => expectStatus(await send('POST', '/Users', { schemas: [userSchema], ...values }), 201),
    group: async (displayName, members = []) =>
      expectStatus(
        await send('POST', '/Groups', {
          schemas: [groupSchema],
          displayName,
          members: members.map((value) => ({ value })),
        }),
        201,
      ),
    patch: (path, ...operations) =>
      send('PATCH', path, { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations: operations }),
    find: async (path) => expectStatus(await send('GET', path), 200),
  };
}
