// Sends requests of a directory to the SCIM server: pages of its users, changes of a user, and new users (RFC 7644).
import { command } from '../children.ts';
import { expectStatus } from '../flows.ts';
import { type Load, loadFlow, loadWith } from '../load.ts';
import { forEach } from './side.ts';

const users = 300;
const schema = 'urn:ietf:params:scim:schemas:core:2.0:User';
const patchOp = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

export async function scimLoads(
  base: string,
  settings: Record<string, string>,
): Promise<Record<'scim-list' | 'scim-patch' | 'scim-create', Load>> {
  const id = 'bench';
  await command(['scim-source', 'create', id, '--name', 'Bench'], settings);
  const { token } = await command(['scim-source', 'add-token', id], settings);
  const path = `/scim/v2/${id}/Users`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
  let made = 0;
  const userOf = (name: string) =>
    JSON.stringify({
      schemas: [schema],
      userName: `${name}-${++made}`,
      externalId: `${name}-${made}`,
      active: true,
      displayName: 'Alice Adams',
      name: { givenName: 'Alice', familyName: 'Adams' },
      emails: [{ value: `${name}-${made}@corp.example`, type: 'work', primary: true }],
    });
  const ids = await forEach(users, async () => {
    const answer = await fetch(base + path, { method: 'POST', headers, body: userOf('first') });
    return ((await answer.json()) as { id: string }).id;
  });
  let changes = 0;
  return {
    'scim-list': loadWith(base, [{ method: 'GET', path: `${path}?startIndex=101&count=100`, headers }]),
    'scim-patch': loadFlow(base, async (ask, connection) => {
      const operation = { op: 'Replace', path: 'title', value: `Pilot ${++changes}` };
      const body = JSON.stringify({ schemas: [patchOp], Operations: [operation] });
      expectStatus(await ask({ method: 'PATCH', path: `${path}/${ids[connection % users]}`, headers, body }), 200);
    }),
    'scim-create': loadFlow(base, async (ask) => {
      expectStatus(await ask({ method: 'POST', path, headers, body: userOf('new') }), 201);
    }),
  };
}
