// Tests how many events of the audit trail a collector gets at a time (federation F114).
import { expect, test } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  firstPortion,
  mostEvents,
  type Portion,
} from '../../../src/rules/audit/portion.ts';

/** The sizes of the next portions at a collector that takes at most this number in time. */
function sizes(count: number, most: (index: number) => number): number[] {
  const found: number[] = [];
  let portion: Portion = firstPortion;
  for (let index = 0; index < count; index++) {
    found.push(portion.size);
    portion = portion.size <= most(index) ? afterSuccess(portion) : afterFailure(portion);
  }
  return found;
}

test('a collector that takes 150 events in time gets more only once in 100 portions, so that few events are sent twice (federation F114)', () => {
  const seen = sizes(1_000, () => 150);
  const late = seen.filter((size) => size > 150);
  expect(late.length).toBeLessThanOrEqual(10);
  const taken = seen.filter((size) => size <= 150).reduce((sum, size) => sum + size, 0);
  expect(taken).toBeGreaterThan(90_000);
});

test('the portion of a collector that was away grows to the usual size at once (federation F114)', () => {
  const seen = sizes(40, (index) => (index < 20 ? 0 : mostEvents));
  expect(seen.slice(15, 21)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(seen.slice(28)).toEqual(Array.from({ length: 12 }, () => mostEvents));
});

test('a collector that takes one event at a time gets one (federation F114)', () => {
  const seen = sizes(200, () => 1);
  expect(seen.filter((size) => size > 1).length).toBeLessThanOrEqual(12);
});
