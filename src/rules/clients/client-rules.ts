// Derives from a client's metadata how the service treats its requests. The repository does so once when it reads a client.
import type { ResourceBinding } from '../../oauth/binding.ts';
import { type ClientMetadata, isPublicClient, needsSecret } from '../../oauth/client-metadata.ts';
import { type Profile, profileOf } from '../../oauth/fapi2.ts';

export interface ClientRules extends Profile {
  readonly isPublic: boolean;
  readonly hasSecret: boolean;
  /** The kind of key to which its access tokens must be bound: by its own wish, or by its profile (security R137). */
  readonly neededBinding: ResourceBinding;
}

export function rulesOf(metadata: ClientMetadata): ClientRules {
  const profile = profileOf(metadata);
  return {
    ...profile,
    isPublic: isPublicClient(metadata),
    hasSecret: needsSecret(metadata),
    neededBinding: neededBinding(profile, metadata),
  };
}

function neededBinding(profile: Profile, metadata: ClientMetadata): ResourceBinding {
  if (metadata.dpop_bound_access_tokens === true) return 'dpop';
  return profile.needsBoundTokens || metadata.tls_client_certificate_bound_access_tokens === true ? 'any' : 'none';
}
