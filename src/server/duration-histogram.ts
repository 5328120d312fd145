// Counts the durations of answers as a Prometheus histogram, in place: the library would look up each set of labels again.
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]; // seconds
const name = 'gatehouse_http_request_duration_seconds';

type Labels = Record<'method' | 'route' | 'status', string | number>;

/** The answers of one set of labels. */
export interface Series {
  labels: Labels;
  /** The count of each bucket alone; the last one counts longer answers. */
  counts: number[];
  sum: number;
}

/** @param register adds the histogram to the library's registry, which writes all metrics */
export function createDurations(register: (metric: { name: string; get(): Promise<object> }) => void) {
  const all: Series[] = [];
  register({
    name,
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: all.flatMap(valuesOf) }),
  });
  return {
    newSeries(labels: Labels): Series {
      const series = { labels, counts: Array<number>(buckets.length + 1).fill(0), sum: 0 };
      all.push(series);
      return series;
    },
    /** @param seconds that an answer took */
    observe(series: Series, seconds: number): void {
      let bucket = 0;
      while (bucket < buckets.length && seconds > buckets[bucket]!) bucket++;
      series.counts[bucket]!++;
      series.sum += seconds;
    },
  };
}

const help = 'Time from the first byte of a request to the end of its answer';

/** The lines of a series: in the output each bucket includes those below it. */
function valuesOf({ labels, counts, sum }: Series) {
  let count = 0;
  const below = counts.map((own, index) => ({
    metricName: `${name}_bucket`,
    labels: { le: buckets[index] ?? '+Inf', ...labels },
    value: (count += own),
  }));
  return [
    ...below,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
