// Lists the routes of SCIM with valid values of their parameters, and the statuses that they may answer.
import type { Route } from './route.ts';

const user = 'urn:ietf:params:scim:schemas:core:2.0:User';
const group = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const authorization = ['@scim'];
const list = {
  'filter?': [
    'userName eq "ada"',
    'displayName sw "a" and not (externalId pr)',
    'emails[type eq "work"]',
    'userName eq',
  ],
  'startIndex?': ['1', '0', 'x'],
  'count?': ['10', '-1'],
  'attributes?': ['userName,name.givenName'],
  'excludedAttributes?': ['members'],
};
const search = {
  schemas: [['urn:ietf:params:scim:api:messages:2.0:SearchRequest']],
  ...list,
  'startIndex?': [1],
  'count?': [2],
};
const patch = {
  schemas: [['urn:ietf:params:scim:api:messages:2.0:PatchOp']],
  Operations: [
    [{ op: 'replace', path: 'displayName', value: 'x' }],
    [{ op: 'Add', path: 'emails[type eq "work"].value', value: 'a@b.example' }],
    [{ op: 'remove', path: 'members[value eq "x"]' }],
    [{ op: 'replace', value: { 'name.givenName': 'x', active: 'False' } }],
  ],
};
const bodies: Record<string, Record<string, readonly unknown[]>> = {
  Users: {
    schemas: [[user]],
    userName: ['ada', 'bob', 'cleo'],
    'externalId?': ['1', '2'],
    'name?': [{ givenName: 'Ada' }],
    'active?': [true, false, 'False'],
    'emails?': [[{ value: 'ada@else.example', type: 'work', primary: true }], []],
  },
  Groups: { schemas: [[group]], displayName: ['crew', 'staff'], 'members?': [[], [{ value: 'none' }]] },
};
const source = { source: ['fuzzed'] };
const one = { path: { ...source, id: ['none'] }, authorization };

/** The routes of a kind of resource. */
const ofKind = (kind: string): [string, Route][] => {
  const at = `/scim/v2/:source/${kind}`;
  const json = bodies[kind]!;
  return [
    [`GET ${at}`, { path: source, authorization, query: list, statuses: [200, 401] }],
    [`POST ${at}`, { path: source, authorization, json, statuses: [201, 401, 409] }],
    [`POST ${at}/.search`, { path: source, authorization, json: search, statuses: [200, 401] }],
    [`GET ${at}/:id`, { ...one, statuses: [200, 401, 404] }],
    [`PUT ${at}/:id`, { ...one, json, statuses: [200, 401, 403, 404, 409] }],
    [`PATCH ${at}/:id`, { ...one, json: patch, statuses: [200, 204, 401, 403, 404, 409] }],
    [`DELETE ${at}/:id`, { ...one, statuses: [204, 401, 403, 404] }],
  ];
};

export const scimRoutes: Record<string, Route> = Object.fromEntries([
  ...['Users', 'Groups'].flatMap(ofKind),
  ['POST /scim/v2/:source/.search', { path: source, authorization, json: search, statuses: [200, 401] }],
  ...['ServiceProviderConfig', 'ResourceTypes', 'Schemas'].map((name): [string, Route] => [
    `GET /scim/v2/:source/${name}`,
    { path: source, authorization, statuses: [200, 401] },
  ]),
  ['GET /scim/v2/:source/:unknown', { path: { ...source, unknown: ['none'] }, authorization, statuses: [401, 404] }],
  ...['ResourceTypes', 'Schemas'].map((name): [string, Route] => [
    `GET /scim/v2/:source/${name}/:id`,
    { path: { ...source, id: ['User', user] }, authorization, statuses: [200, 401, 404] },
  ]),
]);
