// Requests of directories in the shapes that their makers publish, with the effect that each means (RFC 7644, federation 8):
//
//   Microsoft Entra ID   https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups
//                        https://learn.microsoft.com/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility
//   Okta                 https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20
//   JumpCloud            https://jumpcloud.com/support/provision-and-manage-users-and-groups-in-apps-using-custom-scim-identity-management-integration
//
// JumpCloud publishes which acts its test of a connection does, and no bodies: those are here in the form of RFC 7644.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, withoutLimits } from '../helpers/grants.ts';
import { type Directory, enterprise, groupSchema, startDirectory, userSchema } from '../helpers/scim.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let admin: string;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, LIMIT_SCIM: '0' } });
  admin = await adminToken(service);
});
afterAll(() => service?.stop());

const patchOp = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const listResponse = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
const query = (path: string, parameters: Record<string, string>) => `${path}?${new URLSearchParams(parameters)}`;
const membersOf = async (of: Directory, id: string) =>
  (((await of.find(`/Groups/${id}`))['members'] ?? []) as { value: string }[]).map(({ value }) => value).sort();
const none = { schemas: [listResponse], totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] };

describe('Microsoft Entra ID', () => {
  let entra: Directory;
  let id: string;
  beforeAll(async () => {
    entra = await startDirectory(service, admin, 'entra');
  });
  const change = (path: string, ...Operations: object[]) =>
    entra.send('PATCH', path, { schemas: [patchOp], Operations });

  test('its test of a connection asks for a user that no service has (federation F74)', async () => {
    const { status, body, headers } = await entra.send(
      'GET',
      query('/Users', { filter: `userName eq "${randomUUID()}"` }),
    );
    expect([status, headers.get('content-type'), body]).toEqual([200, 'application/scim+json; charset=utf-8', none]);
  });

  test('it creates a user, with attributes that have no value, and finds the user by name, externalId and address (federation F74)', async () => {
    const made = await entra.send('POST', '/Users?aadOptscim062020', {
      schemas: [userSchema, enterprise],
      externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
      userName: 'joy@testuser.example',
      active: true,
      addresses: null,
      displayName: 'Joy Young',
      emails: [{ primary: true, type: 'work', value: 'joy@work.example' }],
      meta: { resourceType: 'User' },
      name: { formatted: 'Joy Young', familyName: 'Young', givenName: 'Joy' },
      phoneNumbers: null,
      preferredLanguage: null,
      title: null,
      department: null,
      manager: null,
      roles: [],
    });
    expect([made.status, made.body['userName'], made.body['active']]).toEqual([201, 'joy@testuser.example', true]);
    id = String(made.body['id']);
    for (const filter of [
      'userName eq "JOY@testuser.example"',
      'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
      'emails[type eq "work"].value eq "joy@work.example"',
      'emails[type eq "work"].value eq "joy@work.example" and userName eq "joy@testuser.example"',
    ]) {
      const { body } = await entra.send('GET', query('/Users', { filter }));
      expect([body['totalResults'], (body['Resources'] as { id: string }[])[0]?.id], filter).toEqual([1, id]);
    }
    const other = 'emails[type eq "home"].value eq "joy@work.example"';
    expect((await entra.send('GET', query('/Users', { filter: other }))).body).toEqual(none);
    expect((await entra.send('GET', '/Users/5171a35d82074e068ce2')).status).toBe(404);
  });

  test('it changes several attributes, as it does by default and with the flag of standard requests (federation F74)', async () => {
    const byDefault = await change(
      `/Users/${id}`,
      { op: 'Replace', path: 'displayName', value: 'Pvlo' },
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'pvlo@work.example' },
      { op: 'Replace', path: 'name.givenName', value: 'Gtfd' },
      { op: 'Replace', path: 'externalId', value: 'Eqpj' },
      { op: 'Replace', path: `${enterprise}:employeeNumber`, value: 'Eqpj' },
      { op: 'Add', path: 'nickName', value: 'Babs' },
      { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555 0100' },
      { op: 'Add', path: 'addresses[type eq "work"].streetAddress', value: '1 Way' },
      { op: 'Add', path: 'roles[primary eq "True"].value', value: 'admin' },
    );
    expect(byDefault.body).toMatchObject({
      displayName: 'Pvlo',
      externalId: 'Eqpj',
      nickName: 'Babs',
      emails: [{ primary: true, type: 'work', value: 'pvlo@work.example' }],
      name: { givenName: 'Gtfd', familyName: 'Young' },
      phoneNumbers: [{ type: 'mobile', value: '+1 555 0100' }],
      addresses: [{ type: 'work', streetAddress: '1 Way' }],
      [enterprise]: { employeeNumber: 'Eqpj' },
    });
    const withFlag = await change(
      `/Users/${id}?aadOptscim062020`,
      { op: 'replace', path: 'emails[type eq "work"].value', value: 'bjfe@work.example' },
      {
        op: 'replace',
        value: {
          displayName: 'Bjfe',
          'name.givenName': 'Kkom',
          'name.familyName': 'Unua',
          [`${enterprise}:employeeNumber`]: 'Aklq',
        },
      },
    );
    expect(withFlag.body).toMatchObject({
      displayName: 'Bjfe',
      emails: [{ value: 'bjfe@work.example' }],
      name: { givenName: 'Kkom', familyName: 'Unua' },
      [enterprise]: { employeeNumber: 'Aklq' },
    });
  });

  test('it names a manager in each of its three ways (federation F74)', async () => {
    const ways = [
      { op: 'Add', path: `${enterprise}:manager`, value: 'm-1' },
      { op: 'Add', path: 'manager', value: [{ $ref: 'http://else.example/scim/Users/m-2', value: 'm-2' }] },
      { op: 'replace', value: { [`${enterprise}:manager`]: 'm-3' } },
    ];
    for (const [index, way] of ways.entries()) {
      const { status, body } = await change(`/Users/${id}`, way);
      expect([status, (body[enterprise] as { manager: { value: string } }).manager.value]).toEqual([
        200,
        `m-${index + 1}`,
      ]);
    }
  });

  test('it creates a group without members, and adds and removes members by default and with the flag (federation F74)', async () => {
    const second = await entra.user({ userName: 'second@testuser.example' });
    const made = await entra.send('POST', '/Groups', {
      schemas: [groupSchema, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'entra-dialect',
      meta: { resourceType: 'Group' },
    });
    expect(made.status).toBe(201);
    const group = String(made.body['id']);
    const at = `/Groups/${group}`;
    const byName = { excludedAttributes: 'members', filter: 'displayName eq "entra-dialect"' };
    expect((await entra.send('GET', query('/Groups', byName))).body['totalResults']).toBe(1);
    await change(at, { op: 'Replace', path: 'displayName', value: 'entra-renamed' });
    await change(at, {
      op: 'Add',
      path: 'members',
      value: [
        { $ref: null, value: id },
        { $ref: null, value: second.id },
      ],
    });
    expect(await membersOf(entra, group)).toEqual([id, second.id].sort());
    expect(await entra.find(`${at}?excludedAttributes=members`)).not.toHaveProperty('members');
    const isMember = { filter: `id eq "${group}" and members eq "${id}"`, excludedAttributes: 'members' };
    expect((await entra.send('GET', query('/Groups', isMember))).body['totalResults']).toBe(1);
    await change(at, { op: 'Remove', path: 'members', value: [{ $ref: null, value: id }] });
    expect(await membersOf(entra, group)).toEqual([second.id]);
    expect((await entra.send('GET', query('/Groups', isMember))).body['totalResults']).toBe(0);
    await change(at, { op: 'remove', path: `members[value eq "${second.id}"]` });
    expect(await membersOf(entra, group)).toEqual([]);
    expect((await entra.send('DELETE', at)).status).toBe(204);
  });

  test('it disables a user in both ways, reads the disabled user, enables and deletes the user (federation F74)', async () => {
    for (const off of [
      { op: 'Replace', path: 'active', value: 'False' },
      { op: 'replace', path: 'active', value: false },
    ]) {
      expect((await change(`/Users/${id}`, off)).body['active']).toBe(false);
      expect((await entra.find(`/Users/${id}`))['active']).toBe(false);
      expect((await change(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'True' })).body['active']).toBe(
        true,
      );
    }
    expect((await entra.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect((await entra.send('GET', `/Users/${id}`)).status).toBe(404);
  });
});

describe('Okta', () => {
  let okta: Directory;
  let user: Record<string, unknown>;
  beforeAll(async () => {
    okta = await startDirectory(service, admin, 'okta');
  });
  const change = (path: string, ...Operations: object[]) =>
    okta.send('PATCH', path, { schemas: [patchOp], Operations });

  test('it looks for a user, creates the user with a password that counts for nothing, and imports pages of 100 (federation F75)', async () => {
    const asked = { filter: 'userName eq "test.user@okta.local"', startIndex: '1', count: '100' };
    expect((await okta.send('GET', query('/Users', asked))).body).toEqual(none);
    const made = await okta.send('POST', '/Users', {
      schemas: [userSchema],
      userName: 'test.user@okta.local',
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
      displayName: 'Test User',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password: '1mz050nq',
      active: true,
    });
    expect(made.status).toBe(201);
    user = made.body;
    for (const [path, total] of [
      ['/Users', 1],
      ['/Groups', 0],
    ] as const)
      expect((await okta.send('GET', query(path, { startIndex: '1', count: '100' }))).body).toMatchObject({
        totalResults: total,
        startIndex: 1,
        itemsPerPage: total,
      });
    const again = await okta.send('POST', '/Users', { schemas: [userSchema], userName: 'test.user@okta.local' });
    expect([again.status, again.body['scimType']]).toEqual([409, 'uniqueness']);
  });

  test('it sends back what it read with a change, and ends and begins the access of a user by PUT and by PATCH (federation F75)', async () => {
    const at = `/Users/${String(user['id'])}`;
    const read = await okta.find(at);
    const put = (more: object) =>
      okta.send('PUT', at, {
        ...read,
        groups: [],
        emails: [{ primary: true, value: 'test.user@okta.local', type: 'work', display: 'test.user@okta.local' }],
        ...more,
      });
    const named = await put({ name: { givenName: 'Another', middleName: '', familyName: 'User' } });
    expect([named.status, named.body['name']]).toEqual([200, { givenName: 'Another', familyName: 'User' }]);
    expect((await put({ active: false })).body['active']).toBe(false);
    expect((await put({ active: true })).body['active']).toBe(true);
    expect((await change(at, { op: 'replace', value: { active: false } })).body['active']).toBe(false);
    expect((await change(at, { op: 'replace', value: { active: true } })).body['active']).toBe(true);
  });

  test('it pushes a group, renames it with its id beside the name, and changes, replaces and empties its members (federation F75)', async () => {
    const first = String(user['id']);
    const { id: second } = await okta.user({ userName: 'second.user@okta.local' });
    const made = await okta.send('POST', '/Groups', {
      schemas: [groupSchema],
      displayName: 'Test SCIMv2',
      members: [],
    });
    expect(made.status).toBe(201);
    const id = String(made.body['id']);
    const at = `/Groups/${id}`;
    const renamed = await change(at, { op: 'replace', value: { id, displayName: 'Test SCIMv20' } });
    expect([renamed.status, renamed.body['displayName']]).toEqual([200, 'Test SCIMv20']);
    const other = await change(at, { op: 'replace', value: { id: randomUUID(), displayName: 'Test SCIMv21' } });
    expect([other.status, other.body['scimType']]).toEqual([400, 'mutability']);
    await change(at, { op: 'replace', path: 'members', value: [{ value: second, display: 'second.user@okta.local' }] });
    expect(await membersOf(okta, id)).toEqual([second]);
    await change(
      at,
      { op: 'remove', path: `members[value eq "${second}"]` },
      { op: 'add', path: 'members', value: [{ value: first, display: 'test.user@okta.local' }] },
    );
    expect(await membersOf(okta, id)).toEqual([first]);
    await okta.send('PUT', at, {
      schemas: [groupSchema],
      id,
      displayName: 'Test SCIMv20',
      members: [first, second].map((value) => ({ value, display: 'a' })),
      meta: { resourceType: 'Group' },
    });
    expect(await membersOf(okta, id)).toEqual([first, second].sort());
    await change(at, { op: 'replace', path: 'members', value: [] });
    expect(await membersOf(okta, id)).toEqual([]);
    expect((await okta.send('DELETE', at)).status).toBe(204);
  });
});

test('JumpCloud tests a connection by a user and a group that it creates, changes and deletes (federation 8)', async () => {
  const jumpcloud = await startDirectory(service, admin, 'jumpcloud');
  const filter = 'userName eq "test@corp.example"';
  expect((await jumpcloud.send('GET', query('/Users', { filter }))).body).toEqual(none);
  const body = {
    schemas: [userSchema],
    userName: 'test@corp.example',
    name: { givenName: 'Test', familyName: 'User' },
  };
  const { id } = await jumpcloud.user({
    ...body,
    emails: [{ value: 'test@corp.example', primary: true }],
    active: true,
  });
  expect((await jumpcloud.send('PUT', `/Users/${id}`, { ...body, displayName: 'Test' })).status).toBe(200);
  const group = await jumpcloud.group('jumpcloud-test');
  await jumpcloud.patch(`/Groups/${group.id}`, { op: 'add', path: 'members', value: [{ value: id }] });
  expect(await membersOf(jumpcloud, group.id)).toEqual([id]);
  await jumpcloud.patch(`/Groups/${group.id}`, { op: 'remove', path: 'members', value: [{ value: id }] });
  expect(await membersOf(jumpcloud, group.id)).toEqual([]);
  expect((await jumpcloud.send('DELETE', `/Groups/${group.id}`)).status).toBe(204);
  expect((await jumpcloud.send('PUT', `/Users/${id}`, { ...body, active: false })).body['active']).toBe(false);
  expect((await jumpcloud.send('DELETE', `/Users/${id}`)).status).toBe(204);
});
