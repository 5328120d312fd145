// Reads the documents of clients again that were used within a day, so that a change or a missing document is known without a user.
import type { Logger } from 'pino';
import type { ClientDocuments } from '../domain/client-documents/client-documents.ts';

const interval = 60_000; // milliseconds; each document has its own hour

/** Starts the job; stop() waits for the fetch that runs. */
export function startDocumentRefetch({
  clientDocuments,
  logger,
}: {
  clientDocuments: Pick<ClientDocuments, 'refetchDue'>;
  logger: Logger;
}): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    running = running
      .then(() => clientDocuments.refetchDue(() => stopped))
      .catch((error: unknown) => logger.warn({ err: error }, 'the documents of clients could not be read again'));
  }, interval);
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
