// The way in to the service: has Node keep what it compiled for the next start, and nothing printed but by the log, before anything else is loaded.
import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { captureStrayOutput } from './start/stray-output.ts';

// before the packages are loaded, which may print at once
captureStrayOutput();

// Beside the packages, so that who may write there could change the code itself; where nobody may, each start compiles anew.
// NODE_COMPILE_CACHE names another folder, and then spares the loader of this very file, too.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/gatehouse', import.meta.url)));
await import('./start/process.ts');
// Started: what was compiled is kept now, in case the process is killed, and what was read of it is let go (5 MB).
flushCompileCache();
