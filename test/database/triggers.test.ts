// Each trigger of the schema has a reason why it is not a statement of the service.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../migrations');
const reasons = {
  'keeps a constraint': [
    'clients_1_decision',
    'clients_2_rules',
    'audit_events_append_only',
    'audit_events_young',
    // an event may lose its network address, and nothing else
    'audit_events_kept',
    // a host belongs to one protected site
    'clients_site_hosts',
    // groups exist while they have members, and count them
    'users_inserted',
    'users_deleted',
    // one text names one user or client
    'users_keys',
    'clients_keys',
    // a confirmed address says what confirmed it
    'users_confirmed_by',
    // an address is stored with the A-label of its domain
    'users_address_insert',
    'users_address_update',
  ],
  // users_updated also counts the members of groups, clients_effects also tells other instances
  'ends what must end': [
    'clients_effects',
    'users_updated',
    'users_end_unasked_links',
    'users_end_links_of_guarded',
    'sessions_end',
    'grants_effects',
  ],
  'tells other instances': ['signing_keys_effects', 'outbox_effects'],
  'records a change by plain SQL': ['clients_by_sql', 'users_by_sql', 'sessions_ended_by_sql', 'passkeys_by_sql'],
};

test('the schema has 25 triggers at most, each for one of four reasons (decisions section 8)', () => {
  const files = readdirSync(folder).filter((file) => /^\d.*\.sql$/.test(file));
  const text = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  const found = [...text.matchAll(/^CREATE (?:CONSTRAINT )?TRIGGER (\w+)/gm)].map(([, name]) => name!);
  const known = Object.values(reasons).flat();
  expect(found.sort()).toEqual([...known].sort());
  expect(known.length).toBeLessThanOrEqual(25);
});
