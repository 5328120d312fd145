// Fetches what checks the files for deployment, runs the tests that need it, and prints what they came to: Debian has none of these programs.
//
//   node test/deploy/fetch.ts helm       helm and kubeconform (Go), the schemas of Kubernetes (PyPI) and of ServiceMonitor (Go)
//   node test/deploy/fetch.ts compose    the reader of compose files (Go)
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

const versions = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
  operator: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
  schemas: 'kubernetes-validate==1.37.0',
};
/** The oldest and the newest Kubernetes. */
const kubernetes = ['1.25.0', '1.37.0'];

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gatehouse-deploy');
const name = process.argv[2];
const arranged = name === 'helm' ? helm() : name === 'compose' ? compose() : undefined;
if (!arranged) {
  console.error('Name one of: helm, compose.');
  process.exit(2);
}
const { status } = spawnSync(process.execPath, ['test/run.ts', arranged.test], {
  stdio: 'inherit',
  env: { ...process.env, WALKS: 'all', ...arranged.environment },
});
process.exit(status ?? 1);

function helm() {
  const schemas = kubernetesSchemas();
  writeServiceMonitor(schemas);
  const environment = { HELM: built('helm'), KUBECONFORM: built('kubeconform'), KUBERNETES_SCHEMAS: schemas };
  return { test: 'test/deploy/helm', environment };
}

function compose() {
  return { test: 'test/deploy/compose-schema', environment: { COMPOSE: composeReader() } };
}

function run(program: string, args: string[], environment: Record<string, string> = {}): string {
  const made = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  });
  if (made.status !== 0) throw new Error(`${program} ${args.join(' ')} failed (${made.error?.message ?? made.status})`);
  return made.stdout;
}

/** Builds a program of a Go module. @returns its path */
function built(what: 'helm' | 'kubeconform'): string {
  const [path = '', version = ''] = versions[what].split('@');
  const folder = join(cache, `${what}-${version}`);
  const program = join(folder, path.split('/').at(-1)!);
  if (!existsSync(program)) run('go', ['install', versions[what]], { GOBIN: folder, GOFLAGS: '-mod=mod' });
  return program;
}

/** Builds the program that calls the library of compose. @returns its path */
function composeReader(): string {
  const folder = join(cache, 'compose-reader');
  cpSync(join(import.meta.dirname, 'compose-reader'), folder, { recursive: true });
  const program = join(folder, 'compose-reader');
  run('go', ['-C', folder, 'build', '-o', program, '.'], { GOFLAGS: '-mod=mod' });
  return program;
}

/** Unpacks the schemas of a package of PyPI, and makes each one complete in itself. @returns the folder */
function kubernetesSchemas(): string {
  const folder = join(cache, versions.schemas);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, versions.schemas]);
  }
  const made = join(folder, 'complete');
  for (const version of kubernetes) {
    const from = join(folder, 'kubernetes_validate/kubernetes-json-schema', `v${version}-local-strict`);
    const to = join(made, version);
    if (existsSync(to)) continue;
    mkdirSync(to, { recursive: true });
    const definitions = JSON.parse(readFileSync(join(from, '_definitions.json'), 'utf8')) as object;
    for (const kind of [
      'deployment-apps-v1',
      'pod-v1',
      'service-v1',
      'serviceaccount-v1',
      'networkpolicy-networking-v1',
      'ingress-networking-v1',
      'poddisruptionbudget-policy-v1',
    ]) {
      const text = readFileSync(join(from, `${kind}.json`), 'utf8').replaceAll('/api/_definitions.json#', '#');
      writeFileSync(join(to, `${kind}.json`), JSON.stringify({ ...(JSON.parse(text) as object), ...definitions }));
    }
  }
  return made;
}

interface CustomResource {
  spec: { versions: { name: string; schema: { openAPIV3Schema: object } }[] };
}

/** Writes the schema of ServiceMonitor as the operator of Prometheus declares it. */
function writeServiceMonitor(folder: string): void {
  const file = join(folder, 'servicemonitor-monitoring-v1.json');
  if (existsSync(file)) return;
  const answer = run('go', ['mod', 'download', '-json', versions.operator], { GOFLAGS: '-mod=mod' });
  const { Dir } = JSON.parse(answer) as { Dir: string };
  const declared = join(Dir, 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml');
  const { spec } = parse(readFileSync(declared, 'utf8')) as CustomResource;
  writeFileSync(
    file,
    JSON.stringify(closed(spec.versions.find((version) => version.name === 'v1')!.schema.openAPIV3Schema)),
  );
}

/** Refuses members that a schema does not name, as the API server does where a client asks for it. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const made = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  const isOpen = made['properties'] === undefined || made['type'] !== 'object' || 'additionalProperties' in made;
  const isMetadata = !Object.keys(made['properties'] ?? {}).length;
  return isOpen || isMetadata ? made : { ...made, additionalProperties: false };
}
