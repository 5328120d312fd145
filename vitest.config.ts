// Settings of the test runner. test/run.ts calls it once for each PostgreSQL; TEST_POSTGRES names which one.
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The long ones first, so that none of them is left over for one worker while the other has nothing to do. */
const long = [
  'processes/kill',
  'faults/database',
  'processes/start.test',
  'fuzz/endpoints',
  'docs/documented-commands',
  'database/embedded',
  'relying-parties/',
  'processes/secret-key',
  'pages/pages.browser',
  'repositories/races',
  'protocol/introspection',
  'flows/demo',
];

/** They need programs that are downloaded or that Debian does not install with the others: `npm run walks` runs them. */
const walks = [
  'test/jobs/provisioning-peer.test.ts',
  'test/relying-parties/mellon.test.ts',
  'test/docs/site.test.ts',
  'test/docs/guides-go.test.ts',
  'test/saml-peers/peers.test.ts',
  'test/deploy/helm.test.ts',
  'test/deploy/compose-schema.test.ts',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = long.findIndex((part) => moduleId.includes(`/test/${part}`));
      return place < 0 ? long.length : place;
    };
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(process.env['WALKS'] === 'all' ? [] : walks)],
    environment: 'node',
    globalSetup: 'test/helpers/global-setup.ts',
    setupFiles: ['test/helpers/patience.ts', 'test/helpers/forget-secrets.ts'],
    // as in helpers/patience.ts
    expect: { poll: { timeout: 600_000, interval: 20 } },
    pool: 'forks',
    fileParallelism: true,
    // one more than the least machine has cores: kills, starts and browsers wait more than they work
    maxWorkers: 3,
    // nothing is shared but code: each file has a database and ports of its own
    isolate: false,
    sequence: { sequencer: LongFirst },
    // long enough for a busy machine: a test that hangs is the only one that reaches it
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
