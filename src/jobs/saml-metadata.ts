// Reads the metadata of identity providers again, each once a day, so that an administrator learns of a new key before the old one ends.
import type { Logger } from 'pino';
import type { SamlMetadataWatch } from '../domain/connections/saml/metadata-watch.ts';
import { startRepeatedWork } from './repeated-work.ts';

const interval = 600_000; // milliseconds; each provider has its own day

/** Starts the job; stop() waits for the reading that runs. */
export const startSamlMetadata = ({ samlMetadata, logger }: { samlMetadata: SamlMetadataWatch; logger: Logger }) =>
  startRepeatedWork(logger, { interval, failed: 'the metadata of identity providers could not be read' }, (isStopped) =>
    samlMetadata.readDue(isStopped),
  );
