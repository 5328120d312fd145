// The threads that hash passwords have a lower priority than the serving thread: in a separate process, so that the test process keeps its priorities.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

// libuv names the threads of its pool since version 1.49
const threadsHaveNames = process.platform === 'linux' && !/^(20|22)\./.test(process.versions.node);

test.runIf(threadsHaveNames)(
  'the threads of the pool get a lower priority, and the serving thread does not (security R102)',
  () => {
    const program = `
    import { readFile } from 'node:fs/promises';
    import { getPriority } from 'node:os';
    import { letPoolThreadsGiveWay } from './src/crypto/thread-priority.ts';
    await readFile('/proc/self/stat');
    const before = getPriority();
    const count = letPoolThreadsGiveWay();
    console.log(JSON.stringify({ count, served: getPriority() - before }));`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(JSON.parse(printed)).toEqual({ count: 4, served: 0 });
  },
);

test.runIf(process.platform === 'linux')(
  'a system that lists no threads does not prevent the start (security R102)',
  () => {
    const program = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    fs.readdirSync = () => { throw Object.assign(new Error('no such folder'), { code: 'ENOENT' }); };
    syncBuiltinESMExports();
    const { letPoolThreadsGiveWay } = await import('./src/crypto/thread-priority.ts');
    console.log(letPoolThreadsGiveWay());`;
    expect(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }).trim()).toBe(
      '0',
    );
  },
);
