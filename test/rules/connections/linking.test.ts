// What a verified identity leads to, as a table (federation 4).
import { expect, test } from 'vitest';
import { decideLink, type LinkDecision, type LinkFacts } from '../../../src/rules/connections/linking.ts';

const account = {
  sub: 'alice',
  enabled: true,
  confirmedBy: 'mail' as const,
  powerful: false,
  hasLink: false,
  hasOtherLink: false,
  removedLink: false,
};
const stranger: LinkFacts = {
  purpose: 'sign-in',
  linked: undefined,
  session: undefined,
  expected: undefined,
  linking: 'ask',
  provisioning: 'off',
  vouches: 'no',
  ownedElsewhere: false,
  account: undefined,
};
const session = { sub: 'alice', recent: true, hasLink: false };
const byWord = { vouches: 'word', account } as const;
const byAuthority = { vouches: 'authority', account } as const;
const refuse = (reason: string) => ({ decision: 'refuse', reason }) as LinkDecision;
const prove = { decision: 'prove', sub: 'alice' } as const;

test.each<[string, Partial<LinkFacts>, LinkDecision]>([
  ['a linked user is signed in', { linked: { sub: 'bob', enabled: true } }, { decision: 'sign-in', sub: 'bob' }],
  ['a linked user who is disabled is not', { linked: { sub: 'bob', enabled: false } }, refuse('disabled')],
  [
    'nothing else is looked at for a linked user',
    { linked: { sub: 'bob', enabled: true }, ...byAuthority, ownedElsewhere: true, expected: 'carol' },
    { decision: 'sign-in', sub: 'bob' },
  ],
  ['a session that began to link confirms', { purpose: 'link', session }, { decision: 'confirm', sub: 'alice' }],
  [
    'a session that is not recent does not',
    { purpose: 'link', session: { ...session, recent: false } },
    refuse('not-signed-in'),
  ],
  ['nor does a browser without it', { purpose: 'link' }, refuse('not-signed-in')],
  [
    'a link of another user stays',
    { purpose: 'link', session, linked: { sub: 'bob', enabled: true } },
    refuse('linked-elsewhere'),
  ],
  [
    'an own link stays',
    { purpose: 'link', session, linked: { sub: 'alice', enabled: true } },
    refuse('linked-otherwise'),
  ],
  [
    'one link to each connection',
    { purpose: 'link', session: { ...session, hasLink: true } },
    refuse('linked-otherwise'),
  ],
  ['a link’s answer never provisions', { purpose: 'link', provisioning: 'on' }, refuse('not-signed-in')],
  ['an expected identity is linked', { expected: 'carol' }, { decision: 'link', sub: 'carol', how: 'administrator' }],
  ['a confirmed address by word is proven', byWord, prove],
  ['by authority, too', byAuthority, prove],
  ['a domain by word asks', { ...byWord, linking: 'domain' }, prove],
  [
    'a domain by authority links',
    { ...byAuthority, linking: 'domain' },
    { decision: 'link', sub: 'alice', how: 'domain' },
  ],
  ...(['administrator', 'authority'] as const).map((confirmedBy): [string, Partial<LinkFacts>, LinkDecision] => [
    `also where ${confirmedBy} confirmed the address`,
    { vouches: 'authority', linking: 'domain', account: { ...account, confirmedBy } },
    { decision: 'link', sub: 'alice', how: 'domain' },
  ]),
  [
    'an account whose address was confirmed by a word is proven',
    { vouches: 'authority', linking: 'domain', account: { ...account, confirmedBy: 'word' } },
    prove,
  ],
  [
    'an account with another link is proven',
    { vouches: 'authority', linking: 'domain', account: { ...account, hasOtherLink: true } },
    prove,
  ],
  ['never links nothing by address', { ...byAuthority, linking: 'never' }, refuse('own-session')],
  [
    'power is not linked by address',
    { vouches: 'authority', linking: 'domain', account: { ...account, powerful: true } },
    refuse('own-session'),
  ],
  [
    'a removed link is not made again',
    { vouches: 'authority', linking: 'domain', account: { ...account, removedLink: true } },
    refuse('own-session'),
  ],
  [
    'a second identity is no heir',
    { vouches: 'authority', linking: 'domain', account: { ...account, hasLink: true } },
    refuse('account-linked-otherwise'),
  ],
  [
    'an unconfirmed address is neither linked nor given away',
    { ...byAuthority, account: { ...account, confirmedBy: undefined }, provisioning: 'on' },
    refuse('address-taken'),
  ],
  ['a disabled account is not proven', { ...byWord, account: { ...account, enabled: false } }, refuse('disabled')],
  ['an address nobody vouches for is not compared', { account, provisioning: 'on' }, { decision: 'provision' }],
  [
    'a domain that is owned elsewhere leads there',
    { ...byWord, ownedElsewhere: true, provisioning: 'on' },
    refuse('elsewhere'),
  ],
  ['off makes no user', {}, refuse('not-admitted')],
  ['invited makes no user', { provisioning: 'invited' }, refuse('not-admitted')],
  ['on makes one', { provisioning: 'on' }, { decision: 'provision' }],
])('%s (federation 4, FR1, FR2, FR7, FR8, security R156)', (_title, facts, decision) => {
  expect(decideLink({ ...stranger, ...facts })).toEqual(decision);
});
