// Makes what the feature areas need of connections by SAML: their messages, and the daily reading of metadata.
import type { Logger } from 'pino';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import type { GuardedFetch } from '../../../outbound/guarded-fetch.ts';
import type { Store } from '../../../repositories/store.ts';
import { createSamlMetadataWatch } from './metadata-watch.ts';
import { createSamlService } from './service.ts';

export const createSamlServices = (options: {
  store: Store;
  secretBox: SecretBox;
  fetchDocument: GuardedFetch;
  issuer: string;
  now: () => Date;
  logger: Logger;
}) => ({
  saml: createSamlService(options),
  samlMetadata: createSamlMetadataWatch({
    ...options,
    warn: (id, error) =>
      options.logger.warn({ err: error, connection: id }, 'the metadata of an identity provider could not be read'),
  }),
});
