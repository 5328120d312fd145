// Derives from a client's metadata how the service treats its requests. The repository does so once when it reads a client.
import { type ClientMetadata, isPublicClient, needsSecret } from './client-metadata.ts';
import { type Profile, profileOf } from './fapi2.ts';

export interface ClientRules extends Profile {
  readonly isPublic: boolean;
  readonly hasSecret: boolean;
}

export const rulesOf = (metadata: ClientMetadata): ClientRules => ({
  ...profileOf(metadata),
  isPublic: isPublicClient(metadata),
  hasSecret: needsSecret(metadata),
});
