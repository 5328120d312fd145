// Starts the service in this process: what it prints goes to the log from the first line on, before any package is loaded.
import { flushCompileCache } from 'node:module';
import { captureStrayOutput } from './start/stray-output.ts';

// packages may print as soon as they are loaded
captureStrayOutput();
await import('./start/process.ts');
// keeps the compiled code now, in case the process is killed, and frees what was read of it (5 MB)
flushCompileCache();
