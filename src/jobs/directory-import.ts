// Imports the users of directories. Each import runs on one instance at a time, when it is due or an administrator starts it.
import type { Logger } from 'pino';
import type { DirectoryImports } from '../domain/connections/ldap/import.ts';

const interval = 15_000; // milliseconds between two checks for an import that is due

/** Starts the job. stop() waits until the current run has left a consistent state. */
export function startDirectoryImports({
  directoryImports,
  logger,
}: {
  directoryImports: DirectoryImports;
  logger: Logger;
}): { wake(): void; stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  function wake(): void {
    running = running
      .then(() => directoryImports.runDue(() => stopped))
      .catch((error: unknown) => {
        if (!stopped) logger.warn({ err: error }, 'directories could not be imported');
      });
  }
  const timer = setInterval(wake, interval);
  return {
    wake,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
