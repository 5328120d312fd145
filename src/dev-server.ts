// Starts a provider for tests in this process: what packages print goes to its log, so that standard output has one line (delivery 5).
import { flushCompileCache } from 'node:module';
import { captureStrayOutput } from './start/stray-output.ts';

captureStrayOutput();
await import('./start/dev.ts');
flushCompileCache();
