// Tests that record_event() alone writes to the audit trail, so that no event is recorded without its subscribers.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('nothing but record_event() writes to the audit trail (architecture, extension points)', () => {
  const writers = ['migrations', 'src']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    .filter((file) => /\.(sql|ts)$/.test(file))
    .filter((file) => /INSERT\s+INTO\s+(public\.)?audit_events/i.test(readFileSync(join(root, file), 'utf8')));
  expect(writers).toEqual(['migrations/functions/record_event.sql']);
});
