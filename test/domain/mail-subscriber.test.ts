// Tests which mails an event orders, by a table of cases.
import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event-subscriber.ts';
import { type MailFacts, mailsAbout, mailSubscriber } from '../../src/domain/events/mail-subscriber.ts';
import { auditEventTypes } from '../../src/repositories/audit/audit-events.ts';

const at = new Date('2026-01-02T03:04:05.678Z');
const event = {
  outcome: 'success',
  actor: 'boss',
  clientId: 'c',
  sub: 'ada',
  address: '192.0.2.1',
  languages: 'de',
  at,
};
const known: MailFacts = { contacts: ['a@example.com'], hasVerifiedAddress: true };
const orders = (members: Partial<RecordedEvent>, facts: Partial<MailFacts> = {}) =>
  mailsAbout({ ...event, ...members } as RecordedEvent, { ...known, ...facts });

const waiting = [{ name: 'registrations' }];
const toAda = (name: string) => ({ name, sub: 'ada', locale: undefined, data: { at } });
const toContact = (name: string) => ({ name, clientId: 'c', recipient: 'a@example.com' });

test.each<[string, Partial<RecordedEvent>, Partial<MailFacts>, unknown[]]>([
  ['a registration that waits', { type: 'client.registered', detail: { status: 'disabled' } }, {}, waiting],
  ['a registration that needs no approval', { type: 'client.registered', detail: { status: 'enabled' } }, {}, []],
  ['a change that waits', { type: 'client.updated', detail: { waits_for_approval: true } }, {}, waiting],
  ['a change in force', { type: 'client.updated', detail: { waits_for_approval: false } }, {}, []],
  ['a change by an administrator', { type: 'client.updated' }, {}, []],
  ['an approval', { type: 'client.approved' }, {}, [toContact('registration-approved')]],
  ['an approval without contacts', { type: 'client.approved' }, { contacts: [] }, []],
  [
    'a refusal',
    { type: 'client.refused', detail: { reason: 'No.' } },
    {},
    [{ ...toContact('registration-refused'), data: { reason: 'No.' } }],
  ],
  [
    'an approval with contacts that are no addresses, twice there, and too many',
    { type: 'client.approved' },
    { contacts: ['a@example.com', 'the desk', 'a@example.com', 'b@x', 'c@x', 'd@x'] },
    ['a@example.com', 'b@x', 'c@x'].map((recipient) => ({ ...toContact('registration-approved'), recipient })),
  ],
  ['a password that an administrator set', { type: 'user.password_changed' }, {}, [toAda('password-changed')]],
  [
    'a password that the user set',
    { type: 'user.password_changed', actor: 'ada' },
    {},
    [{ ...toAda('password-changed'), locale: 'de', data: { at, address: '192.0.2.1' } }],
  ],
  [
    'a password of a user without a verified address',
    { type: 'user.password_changed' },
    { hasVerifiedAddress: false },
    [],
  ],
  [
    'a webhook that failed for five days',
    { type: 'webhook.disabled', detail: { reason: 'failing' } },
    { webhook: 'Sync' },
    [{ name: 'webhook-disabled', data: { webhook: 'Sync' } }],
  ],
  [
    'a provisioning target that fails for an hour',
    { type: 'provisioning_target.failing', clientId: 'wiki' },
    {},
    [{ name: 'provisioning-failing', clientId: 'wiki' }],
  ],
  ['a webhook that is gone', { type: 'webhook.disabled', detail: { reason: 'gone' } }, { webhook: 'Sync' }, []],
  ['a new second factor', { type: 'user.second_factor_added' }, {}, [toAda('second-factor-changed')]],
  ['a removed second factor', { type: 'user.second_factor_removed' }, {}, [toAda('second-factor-changed')]],
  ['a link that an import made with its user', { type: 'identity.linked', detail: { how: 'imported' } }, {}, []],
  [
    'a connected sign-in (federation FR6)',
    { type: 'identity.linked', detail: { how: 'person' } },
    { connection: 'Corporate' },
    [
      {
        ...toAda('identity-linked'),
        data: { ...(toAda('identity-linked') as { data: object }).data, connection: 'Corporate' },
      },
    ],
  ],
  [
    'a sign-in that an administrator or plain SQL disconnected (security R165)',
    { type: 'identity.unlinked', actor: 'sql' },
    {},
    [toAda('identity-unlinked')],
  ],
  ['the first sign-in of a new account', { type: 'identity.linked', detail: { how: 'provisioned' } }, {}, []],
  ['new recovery codes', { type: 'user.recovery_codes_renewed' }, {}, [toAda('second-factor-changed')]],
  ['a change of a user', { type: 'user.changed' }, {}, []],
])(
  '%s orders its mails, in the language and with the address of the user alone (pages, mails)',
  (_what, members, facts, expected) => {
    expect(orders(members, facts)).toEqual(expected);
  },
);

test('an operation that failed orders no mail (pages, mails)', () => {
  for (const type of auditEventTypes)
    expect(orders({ type, outcome: 'failure', detail: { status: 'disabled', waits_for_approval: true } })).toEqual([]);
});

test('the subscriber hears of just the events that can order a mail (architecture, extension points)', () => {
  const detail = { status: 'disabled', waits_for_approval: true, reason: 'failing' };
  const ordering = auditEventTypes.filter((type) => orders({ type, detail }, { webhook: 'Sync' }).length > 0);
  expect([...mailSubscriber.types].sort()).toEqual(ordering.sort());
});
