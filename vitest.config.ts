// Settings of the test runner. test/run.ts calls it once for each PostgreSQL; TEST_POSTGRES names which one.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    globalSetup: 'test/helpers/global-setup.ts',
    pool: 'forks',
    fileParallelism: true,
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
});
