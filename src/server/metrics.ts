// Measures the service for Prometheus: requests, grants, events, connections to the database, password hashes.
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from 'prom-client';
import type { PasswordQueue } from '../domain/rate-limits/password-queue.ts';
import type { SpanCounts } from '../outbound/span-queue.ts';
import type { Database } from '../database/database.ts';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import { mostCounted, type StreamState } from '../repositories/audit/audit-stream.ts';
import { createDurations, type Series } from './duration-histogram.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The metrics of one process, as it sends them to another one. */
export type MetricValues = object[];

/** The other processes of this service on this machine, behind the same port (WORKERS). */
export interface Siblings {
  /** Sets the function that returns the metrics of this process to another one. */
  answerWith(values: () => Promise<MetricValues>): void;
  ask(): Promise<MetricValues[]>;
}

/** Milliseconds. */
const driftInterval = 60_000;

let processRegistry: Registry | undefined;

/** The metrics of Node itself. Their timer and their observer live as long as the process, so a second service in it shares them. */
function processMetrics(): Metric[] {
  if (!processRegistry) collectDefaultMetrics({ register: (processRegistry = new Registry()) });
  return processRegistry.getMetricsAsArray() as unknown as Metric[];
}

/** Labels are names that the code defines, such as route patterns, event types and grant types, never a value of a request (security R99). */
export function createMetrics(parts: {
  database: Pick<Database, 'connections'>;
  passwords: Pick<PasswordQueue, 'load'>;
  siblings?: Siblings | undefined;
}) {
  const registry = new Registry();
  const registers = [registry];
  for (const metric of processMetrics()) registry.registerMetric(metric);
  // the library needs a name and values only, but its type describes its own classes
  const durations = createDurations((metric) => registry.registerMetric(metric as unknown as Metric));
  const grants = new Counter({
    name: 'gatehouse_grants_total',
    help: 'Grants for which the token endpoint issued tokens',
    labelNames: ['grant_type'],
    registers,
  });
  const events = new Counter({
    name: 'gatehouse_events_total',
    help: 'Events of the audit trail that this instance recorded',
    labelNames: ['type', 'outcome'],
    registers,
  });
  new Gauge({
    name: 'gatehouse_database_connections',
    help: 'Connections of the pool by state, and requests that wait for one',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(parts.database.connections())) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'gatehouse_password_hashes',
    help: 'Password hashes that run, and that wait for their turn',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(parts.passwords.load())) this.set({ state }, count);
    },
  });

  const droppedHeaders = new Counter({
    name: 'gatehouse_client_certificate_headers_dropped_total',
    help: 'Requests whose header for a client certificate did not come from a proxy of TRUST_PROXY to the mTLS address',
    registers,
  });

  let granted = 0;
  const { siblings } = parts;
  siblings?.answerWith(() => registry.getMetricsAsJSON());

  const byRoute = new Map<string, Map<string, Map<number, Series>>>();

  return {
    /** Measures what differs from configuration files: counted when the metrics are asked for, and at most once a minute. */
    measureDrift(count: () => Promise<number>): void {
      let counted = -Infinity;
      new Gauge({
        name: 'gatehouse_config_drift',
        help: 'Objects that differ from the configuration files that manage them',
        registers,
        // each process counts the same objects
        aggregator: 'max',
        async collect() {
          if (performance.now() - counted < driftInterval) return;
          counted = performance.now();
          const differ = await count().catch(() => undefined);
          if (differ !== undefined) this.set(differ);
        },
      });
    },
    /** Measures how far the collector of the audit stream is behind. */
    measureAuditStream(state: () => Promise<StreamState | undefined>): void {
      let asked: Promise<StreamState | undefined> | undefined;
      // the two gauges of one scrape share a look
      const look = () =>
        (asked ??= state()
          .catch(() => undefined)
          .finally(() => (asked = undefined)));
      const gauge = (name: string, help: string, valueOf: (found: StreamState) => number) =>
        new Gauge({
          name,
          help,
          registers,
          // each process sees the same stream
          aggregator: 'max',
          async collect() {
            const found = await look();
            if (found) this.set(valueOf(found));
          },
        });
      gauge(
        'gatehouse_audit_stream_waiting_events',
        `Events that the collector of the audit stream does not have yet, counted up to ${mostCounted}`,
        ({ waiting }) => waiting,
      );
      gauge(
        'gatehouse_audit_stream_behind_seconds',
        'The age of the oldest event that the collector of the audit stream does not have yet',
        ({ since }) => (since ? Math.max(0, (Date.now() - since.getTime()) / 1000) : 0),
      );
    },
    /** Counts the spans of traces. */
    measureTraces(counts: () => SpanCounts): void {
      new Counter({
        name: 'gatehouse_trace_spans_total',
        help: 'Spans of traces that the collector took, that it did not take, and that found no place while they waited for it',
        labelNames: ['result'],
        registers,
        collect() {
          this.reset();
          for (const [result, count] of Object.entries(counts())) this.inc({ result }, count);
        },
      });
    },
    /** Counts an answer. @param route its pattern, or "none" */
    observe(route: string, method: string, status: number, seconds: number): void {
      let byMethod = byRoute.get(route);
      if (!byMethod) byRoute.set(route, (byMethod = new Map()));
      let byStatus = byMethod.get(method);
      if (!byStatus) byMethod.set(method, (byStatus = new Map()));
      let series = byStatus.get(status);
      if (!series) byStatus.set(status, (series = durations.newSeries({ method, route, status })));
      durations.observe(series, seconds);
    },
    granted(grantType: string): void {
      granted++;
      grants.inc({ grant_type: grantType });
    },
    /** The grants of all types since the start of this instance. */
    get grants(): number {
      return granted;
    },
    certificateHeaderDropped: () => droppedHeaders.inc(),
    event: ({ type, outcome }: Pick<AuditEvent, 'type' | 'outcome'>) => events.inc({ type, outcome }),
    contentType: registry.contentType,
    /** Returns all metrics in Prometheus' text format, summed over the processes behind one port, since a request reaches any of them. */
    async text(): Promise<string> {
      if (!siblings) return registry.metrics();
      const all = [await registry.getMetricsAsJSON(), ...(await siblings.ask())];
      return AggregatorRegistry.aggregate(all).metrics();
    },
  };
}
