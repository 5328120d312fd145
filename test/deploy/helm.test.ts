// Checks the Helm chart: helm accepts it, Kubernetes' schemas accept what comes out, and values that cannot work are refused.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config.ts';
import { originPaths } from '../../src/protocol/protocol.ts';
import { webfingerPath } from '../../src/protocol/webfinger/routes.ts';

const root = resolve(import.meta.dirname, '../..');
const chart = join(root, 'deploy/helm/gatehouse');
const files = readdirSync(join(chart, 'ci'));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-helm-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Container {
  command?: string[];
  env: { name: string; value: string }[];
  securityContext: object;
  volumeMounts?: { name: string; mountPath: string }[];
  startupProbe?: { httpGet: { path: string } };
  readinessProbe?: { httpGet: { path: string } };
  livenessProbe?: { httpGet: { path: string } };
}
interface Resource {
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: Record<string, unknown> & { template?: { spec: { containers: Container[] } }; containers?: Container[] };
}

function run(program: string | undefined, args: string[], input?: string) {
  const { status, stdout, stderr } = spawnSync(program!, args, { encoding: 'utf8', input });
  return { status, stdout, stderr };
}
const template = (file: string, ...args: string[]) =>
  run(process.env['HELM'], ['template', 'id', chart, '--values', file, '--kube-version', '1.37.0', ...args]);
const rendered = (name: string) => template(join(chart, 'ci', name)).stdout;
const resources = (name: string): Resource[] =>
  parseAllDocuments(rendered(name)).map((document) => document.toJS() as Resource);

test('the chart has the version of package.json (delivery 7)', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))).toMatchObject({ version, appVersion: version });
  expect(rendered('least-values.yaml')).toContain(`image: gatehouse:${version}`);
});

test.each(files)('helm lint accepts the chart with %s (delivery 4)', (name) => {
  const { status, stdout } = run(process.env['HELM'], ['lint', '--strict', chart, '--values', join(chart, 'ci', name)]);
  expect([status, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
});

test.each(files.flatMap((name) => ['1.25.0', '1.37.0'].map((version) => [name, version] as const)))(
  'what helm makes of %s is valid in Kubernetes %s, without unknown members (delivery 4)',
  (name, version) => {
    const schemas = process.env['KUBERNETES_SCHEMAS']!;
    const places = [`${schemas}/${version}`, schemas].flatMap((place) => [
      '-schema-location',
      `${place}/{{ .ResourceKind }}{{ .KindSuffix }}.json`,
    ]);
    const check = (text: string) =>
      run(
        process.env['KUBECONFORM'],
        ['-strict', '-summary', '-output', 'json', '-kubernetes-version', version, ...places],
        text,
      );
    const made = resources(name);
    expect(JSON.parse(check(rendered(name)).stdout)).toMatchObject({
      summary: { valid: made.length, invalid: 0, errors: 0, skipped: 0 },
    });
    const wrong = rendered(name).replace('automountServiceAccountToken', 'automountServiceAccountTokn');
    expect((JSON.parse(check(wrong).stdout) as { summary: { invalid: number } }).summary.invalid).toBe(1);
  },
);

test('the full values make each part, and the least ones what a service needs (delivery 4)', () => {
  const kinds = (name: string) =>
    resources(name)
      .map(({ kind }) => kind)
      .sort();
  const usual = ['Deployment', 'NetworkPolicy', 'Pod', 'PodDisruptionBudget', 'Service'];
  expect(kinds('least-values.yaml')).toEqual([...usual, 'ServiceAccount'].sort());
  expect(kinds('full-values.yaml')).toEqual([...usual, 'Ingress', 'ServiceMonitor'].sort());
  expect(kinds('openshift-values.yaml')).toEqual(['Deployment', 'Pod', 'Service', 'ServiceAccount']);
  // one replica needs no budget, which would stop every drain
  const [deployment] = resources('least-values.yaml').filter(({ kind }) => kind === 'Deployment');
  expect(deployment!.spec).toMatchObject({ replicas: 2 });
});

test('with a path and a port in the issuer the ingress has the host alone, and each address of the service at the origin (delivery 4, RFC 8414 3.1, RFC 9728 3.1)', () => {
  const issuer = ['--set', 'issuer=https://id.example.com:8443/auth'];
  const { stdout } = template(join(chart, 'ci', 'full-values.yaml'), ...issuer);
  const ingress = parseAllDocuments(stdout)
    .map((document) => document.toJS() as Resource)
    .find(({ kind }) => kind === 'Ingress')!;
  const { rules, tls } = ingress.spec as unknown as {
    rules: { host: string; http: { paths: { path: string; pathType: string }[] } }[];
    tls: { hosts: string[] }[];
  };
  expect([rules[0]!.host, ...tls[0]!.hosts]).toEqual(['id.example.com', 'id.example.com']);
  const leads = (address: string) =>
    rules[0]!.http.paths.some(({ path, pathType }) =>
      pathType === 'Exact' ? address === path : address === path || address.startsWith(`${path}/`),
    );
  const addresses = ['/auth/login', '/auth/.well-known/openid-configuration', webfingerPath, ...originPaths('/auth')];
  expect(addresses.filter((address) => !leads(address))).toEqual([]);
  expect(leads('/')).toBe(false);
});

test.each(files)(
  'with %s no secret stands in what helm makes, and the service accepts the settings (delivery 4)',
  (name) => {
    const made = resources(name);
    expect(made.some(({ kind }) => kind === 'Secret')).toBe(false);
    const { spec } = made.find(({ kind }) => kind === 'Deployment')!.spec.template!;
    const [container] = spec.containers;
    expect(spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    expect(container!.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const mounted = container!.volumeMounts!.find((mount) => mount.name === 'secrets')!.mountPath;
    const values: Record<string, string> = {
      SECRET_KEY: randomBytes(32).toString('base64url'),
      DATABASE_URL: 'postgresql://gatehouse:of-the-database@db.example.com/gatehouse',
      ADMIN_PASSWORD: 'a long enough password',
      SMTP_URL: 'smtps://user:of-the-mail@mail.example.com',
      AUDIT_STREAM_TOKEN: 'of-the-collector',
    };
    const settings = container!.env.map((entry) => {
      if (!entry.value.startsWith(`${mounted}/`)) return [entry.name, entry.value] as const;
      const setting = entry.value.slice(mounted.length + 1);
      expect(entry.name).toBe(`${setting}_FILE`);
      writeFileSync(join(folder, setting), values[setting]!);
      return [entry.name, join(folder, setting)] as const;
    });
    const environment = { MAIL_FROM: 'accounts@example.com', ...Object.fromEntries(settings) };
    // the token of a collector needs its address
    if ('AUDIT_STREAM_TOKEN_FILE' in environment)
      Object.assign(environment, { AUDIT_STREAM: 'https://collector.example.com/' });
    const config = loadConfig(environment);
    const { issuer } = parse(readFileSync(join(chart, 'ci', name), 'utf8')) as { issuer: string };
    expect(config).toMatchObject({ issuer, databaseUrl: values['DATABASE_URL'] });
    const paths = [container!.startupProbe, container!.readinessProbe, container!.livenessProbe].map(
      (probe) => probe!.httpGet.path,
    );
    expect(paths).toEqual(['ready', 'ready', 'live'].map((which) => `${config.basePath}/health/${which}`));
    const pod = made.find(({ kind }) => kind === 'Pod')!;
    expect(pod.metadata.annotations!['helm.sh/hook']).toBe('test');
    expect(pod.spec.containers![0]!.command).toEqual(['node', 'bin/health-check.ts']);
    // the pod of the test is none of the service
    const service = made.find(({ kind }) => kind === 'Service')!;
    const selector = service.spec['selector'] as Record<string, string>;
    expect(Object.entries(selector).every(([key, value]) => pod.metadata.labels[key] === value)).toBe(false);
  },
);

test.each([
  ['no issuer', '{}', /issuer/],
  ['an issuer without TLS', 'issuer: http://id.example.com', /issuer/],
  ['an issuer with a slash at its end', 'issuer: https://id.example.com/', /issuer/],
  ['no database', 'database: { secret: "" }', /database/],
  ['a secret among the settings', 'settings: { SECRET_KEY: x }', /SECRET_KEY/],
  ['a value that does not exist', 'replica: 2', /replica/],
  ['metrics without a client', 'serviceMonitor: { enabled: true }', /serviceMonitor/],
])('the schema of the values refuses %s (delivery 4)', (_what, change, problem) => {
  const file = join(folder, 'values.yaml');
  writeFileSync(file, change);
  const least = join(chart, 'ci/least-values.yaml');
  const before = change === '{}' ? file : least;
  const { status, stderr } = template(before, '--values', file);
  expect([status, stderr]).toEqual([1, expect.stringMatching(problem)]);
});
