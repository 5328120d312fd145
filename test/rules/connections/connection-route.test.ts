// Where a name leads, and what a connection owns of a user, case by case.
import { describe, expect, test } from 'vitest';
import { routeOf, routeOfDomain } from '../../../src/rules/connections/connection-route.ts';
import { ownedMembers, type OwningConnection } from '../../../src/rules/connections/owned-members.ts';

const connections = [
  { id: 'corporate', domains: ['corp.example', 'xn--bcher-kva.example'], subdomains: false },
  { id: 'group', domains: ['group.example'], subdomains: true },
  { id: 'branch', domains: ['branch.group.example'], subdomains: false },
];

describe('a name (federation 4, FR2, F21)', () => {
  test.each([
    ['ada@corp.example', 'corporate'],
    [' ada@corp.example ', 'corporate'],
    ['Ada@CORP.Example', 'corporate'],
    ['ada@bücher.example', 'corporate'],
    ['ada@BÜCHER.example', 'corporate'],
    ['ada@sub.corp.example', undefined],
    ['ada@corp.example.evil.test', undefined],
    // characters that are others in their compatibility form
    ['ada@corp.example／.evil.test', undefined],
    ['ada@corp.example？.evil.test', undefined],
    ['ada@corp.example＃.evil.test', undefined],
    ['ada@corp％2eexample', undefined],
    ['ada@else.example＠corp.example', undefined],
    ['ada＠else.example@corp.example', undefined],
    ['＂ada＂@corp.example', undefined],
    ['ada@ｃｏｒｐ.example', 'corporate'],
    ['ada@corp。example', 'corporate'],
    ['ada@evilcorp.example', undefined],
    ['ada@corp.example.', undefined],
    ['ada@', undefined],
    ['ada', undefined],
    ['ada@b@corp.example', undefined],
    ['ada@group.example', 'group'],
    ['ada@a.b.group.example', 'group'],
    ['ada@branch.group.example', 'branch'],
    ['ada@x.branch.group.example', 'group'],
    ['ada@notgroup.example', undefined],
    ['ada@example', undefined],
  ])('%j leads to %s', (name, id) => expect(routeOf(name, connections)?.id).toBe(id));

  test.each([
    ['corp.example', 'corporate'],
    ['a.group.example', 'group'],
    ['ada@corp.example', undefined],
    ['', undefined],
    ['.', undefined],
  ])('so does the domain %j to %s', (domain, id) => expect(routeOfDomain(domain, connections)?.id).toBe(id));
});

describe('a connection owns (federation 4)', () => {
  const owner: OwningConnection = {
    displayName: 'Corporate',
    status: 'enabled',
    sync: 'always',
    authoritativeDomains: ['corp.example'],
    claimRules: [{ to: 'name' }, { to: 'phone_number' }],
    domains: ['corp.example'],
    enforced: false,
    subdomains: false,
  };
  test.each<[string, OwningConnection[], string | undefined, Record<string, string>]>([
    [
      'the claims of its rules, and an address of its domains',
      [owner],
      'a@corp.example',
      { name: 'Corporate', phone_number: 'Corporate', email: 'Corporate' },
    ],
    ['no address of another domain', [owner], 'a@else.example', { name: 'Corporate', phone_number: 'Corporate' }],
    ['no address that there is not', [owner], undefined, { name: 'Corporate', phone_number: 'Corporate' }],
    ['nothing while it is disabled', [{ ...owner, status: 'disabled' }], 'a@corp.example', {}],
    ['nothing that it says only once', [{ ...owner, sync: 'first' }], 'a@corp.example', {}],
    ['nothing that it never says', [{ ...owner, sync: 'never' }], 'a@corp.example', {}],
    [
      'an address of a domain that it enforces, whatever else it says',
      [{ ...owner, sync: 'never', authoritativeDomains: [], enforced: true }],
      'a@corp.example',
      { email: 'Corporate' },
    ],
    [
      'no address of another domain than those that it enforces',
      [{ ...owner, sync: 'never', enforced: true }],
      'a@else.example',
      {},
    ],
    [
      'no address of an enforced domain while users only link by it',
      [{ ...owner, sync: 'never', status: 'link_only', enforced: true }],
      'a@corp.example',
      {},
    ],
    [
      'what no other owns before it',
      [{ ...owner, displayName: 'First', claimRules: [{ to: 'name' }], authoritativeDomains: [] }, owner],
      undefined,
      { name: 'First', phone_number: 'Corporate' },
    ],
  ])('%s', (_title, linked, email, owned) => expect(ownedMembers(linked, email, linked)).toEqual(owned));
});
