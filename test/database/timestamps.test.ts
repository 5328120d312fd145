// A timestamp is read as the driver reads it, whatever the database's time zone.
import pg from 'pg';
import { expect, test } from 'vitest';
import { readInstant } from '../../src/database/timestamps.ts';

const readAny = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ, 'text') as (text: string) => Date | number;

test.each([
  '2026-11-22 14:30:19+00',
  '2026-11-22 14:30:19.1+00',
  '2026-02-28 23:59:59.99+00',
  '2024-02-29 00:00:00.001999+00',
  '1969-12-31 23:59:59.999999+00',
  '0101-01-01 00:00:00+00',
  '0099-12-31 00:00:00+00',
  '10000-01-01 00:00:00+00',
  '2026-07-01 12:00:00.5+02',
  '1890-07-01 12:00:00+00:53:28',
  '2026-07-01 12:00:00.5-03:30',
  '0044-03-15 12:00:00+00 BC',
  'infinity',
  '-infinity',
])('%s is read as the instant that the driver reads (architecture, hot paths)', (text) => {
  expect(readInstant(text)).toEqual(readAny(text));
});
