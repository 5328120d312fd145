// Derives from a client's metadata how the service treats its requests. The repository does so once when it reads a client.
import { type ClientMetadata, isPublicClient, needsSecret } from '../../oauth/client-metadata.ts';
import { type Profile, profileOf } from '../../oauth/fapi2.ts';

export interface ClientRules extends Profile {
  readonly isPublic: boolean;
  readonly hasSecret: boolean;
  /** Whether it gets no unbound access token: by its own wish, or by its profile (security R137). */
  readonly needsBoundTokens: boolean;
}

export function rulesOf(metadata: ClientMetadata): ClientRules {
  const profile = profileOf(metadata);
  return {
    ...profile,
    isPublic: isPublicClient(metadata),
    hasSecret: needsSecret(metadata),
    needsBoundTokens: profile.needsBoundTokens || metadata.dpop_bound_access_tokens === true,
  };
}
