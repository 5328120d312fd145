// Checks that the dashboard, the alerts and the page about observability name exactly the metrics that the service has.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { adminToken, obtainTokens } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');

let service: TestService;
/** The samples of the metrics: the names and labels of each. */
let samples: { name: string; labels: string[] }[];
beforeAll(async () => {
  service = await startTestService({
    environment: {
      AUDIT_STREAM: 'https://localhost:1/',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:1',
      OTEL_TRACES_SAMPLER: 'always_off',
    },
  });
  await obtainTokens(service, await service.createClient(), await service.createUser());
  const headers = { authorization: `Bearer ${await adminToken(service)}` };
  const text = await (await fetch(`${service.issuer}/metrics`, { headers })).text();
  samples = [...text.matchAll(/^([a-z_0-9]+)(?:\{(.*)\})? \S+$/gm)].map(([, name, labels = '']) => ({
    name: name!,
    labels: [...labels.matchAll(/([a-z_]+)="/g)].map(([, label]) => label!),
  }));
});
afterAll(() => service?.stop());

/** The names of metrics in an expression, and the labels that the expression uses of them. */
function usesOf(expression: string): { name: string; labels: string[] }[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/));
  return [...expression.matchAll(/\b((?:gatehouse|process|nodejs)_[a-z_0-9]+)(?:\{([^}]*)\})?/g)].map(
    ([, name, labels = '']) => ({
      name: name!,
      labels: [...grouped, ...[...labels.matchAll(/([a-z_]+)=?[=~!]/g)].map(([, label]) => label!)],
    }),
  );
}

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
  templating: { list: { query?: { query: string } | string }[] };
}
interface Alerts {
  groups: { rules: { alert: string; expr: string }[] }[];
}
const dashboard = JSON.parse(read('deploy/grafana/gatehouse.json')) as Dashboard;
const alerts = (parse(read('deploy/prometheus/alerts.yml')) as Alerts).groups.flatMap(({ rules }) => rules);
const expressions = [
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.flatMap(({ query }) => (typeof query === 'object' ? [query.query] : [])),
  ...alerts.map(({ expr }) => expr),
];

test('each metric and label of the dashboard and of the alerts exists at /metrics (federation 14)', () => {
  const uses = expressions.flatMap(usesOf);
  expect(uses.length).toBeGreaterThan(20);
  for (const { name, labels } of uses) {
    const sample = samples.find((one) => one.name === name);
    expect(sample, name).toBeDefined();
    // Prometheus adds the labels of the scrape
    const known = [...sample!.labels, 'instance', 'job'];
    expect({ name, unknown: labels.filter((label) => !known.includes(label)) }).toEqual({ name, unknown: [] });
  }
});

test('the page about observability lists every metric of the service, and no other (federation 14)', () => {
  const page = read('docs/observability.md');
  const listed = [...page.matchAll(/^\| `(gatehouse_\w+)` \|/gm)].map(([, name]) => name!);
  const own = samples
    .filter(({ name }) => name.startsWith('gatehouse_'))
    .map(({ name }) => name.replace(/(_seconds)_(bucket|sum|count)$/, '$1'));
  expect(listed.sort()).toEqual([...new Set(own)].sort());
  for (const [, name] of page.matchAll(/`((?:process|nodejs)_\w+)`/g))
    expect(samples.map((one) => one.name)).toContain(name);
});

test('the page and the dashboard show every metric, and the page every alert (federation 14)', () => {
  const shown = new Set(expressions.flatMap(usesOf).map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')));
  const page = read('docs/observability.md');
  for (const [, name] of page.matchAll(/^\| `(gatehouse_\w+)` \|/gm)) expect(shown, name).toContain(name);
  const listed = [...page.matchAll(/^\| `(Gatehouse\w+)` \|/gm)].map(([, name]) => name!);
  expect(listed.sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});
