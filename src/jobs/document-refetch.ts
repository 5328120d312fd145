// Reads the documents of clients again that were used within a day, so that a change or a missing document is known without a user.
import type { Logger } from 'pino';
import type { ClientDocuments } from '../domain/client-documents/client-documents.ts';
import { startRepeatedWork } from './repeated-work.ts';

const interval = 60_000; // milliseconds; each document has its own hour

/** Starts the job; stop() waits for the fetch that runs. */
export const startDocumentRefetch = ({
  clientDocuments,
  logger,
}: {
  clientDocuments: Pick<ClientDocuments, 'refetchDue'>;
  logger: Logger;
}) =>
  startRepeatedWork(logger, { interval, failed: 'the documents of clients could not be read again' }, (isStopped) =>
    clientDocuments.refetchDue(isStopped),
  );
