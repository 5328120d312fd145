// Turns hourly counts into the bars of a chart: one for each hour of a day, or for each day of a month, by UTC.
import type { BarView, ChartView } from '../../../pages/views/console-operations.ts';
import type { CountedKind, HourlyCount } from '../../../repositories/audit/hourly-counts.ts';

const hour = 3_600_000; // milliseconds
const lengths = { day: { bars: 24, bar: hour }, month: { bars: 30, bar: 24 * hour } } as const;
const members: Record<CountedKind, keyof Omit<BarView, 'at'>> = {
  sign_in: 'signedIn',
  sign_in_failed: 'failed',
  refusal: 'refused',
  grant: 'granted',
};
const none = { signedIn: 0, failed: 0, refused: 0, granted: 0 };

/** The time at which the first bar begins of a chart that ends now. */
export function beginningOf(period: ChartView['period'], now: Date): Date {
  const { bars, bar } = lengths[period];
  return new Date((Math.floor(now.getTime() / bar) - bars + 1) * bar);
}

/** @param counts at least those since the beginning; others are left out */
export function chart(period: ChartView['period'], counts: readonly HourlyCount[], now: Date): ChartView {
  const { bars: count, bar: length } = lengths[period];
  const begin = beginningOf(period, now).getTime();
  const bars = Array.from({ length: count }, (_, index): BarView => ({
    at: new Date(begin + index * length),
    ...none,
  }));
  const totals = { ...none };
  for (const { hour: at, kind, count: number } of counts) {
    const bar = bars[Math.floor((at.getTime() - begin) / length)];
    const member = members[kind];
    if (!bar || member === undefined) continue;
    bar[member] += number;
    totals[member] += number;
  }
  return {
    period,
    bars,
    totals,
    most: roundUp(Math.max(...bars.map((bar) => bar.signedIn + bar.failed + bar.refused))),
  };
}

/** Rounds up to a number that is easy to read on a scale, and whose half is whole: 2, 4 or 10 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return Math.max(2, power * [1, 2, 4, 10].find((step) => value <= step * power)!);
}
