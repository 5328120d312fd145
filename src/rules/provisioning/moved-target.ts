// Decides which secrets of a provisioning target must be given again when its addresses change: no other server gets them (security R162).

export interface TargetAddresses {
  base_url: string;
  token_endpoint?: string | null | undefined;
}
export type TargetSecret = 'bearer_token' | 'client_secret';

// a file may have a text that is no address: it is refused later
const originOf = (url: string): string | undefined => URL.parse(url)?.origin;

/** The secrets with which another server would be asked. The client secret gets the access tokens that the SCIM service is sent, so it moves with both. */
export function secretsOfMove(before: TargetAddresses, after: TargetAddresses): TargetSecret[] {
  if (originOf(before.base_url) !== originOf(after.base_url)) return ['bearer_token', 'client_secret'];
  const [one, other] = [before.token_endpoint ?? undefined, after.token_endpoint ?? undefined];
  const isMoved = one !== undefined && other !== undefined && originOf(one) !== originOf(other);
  return isMoved ? ['client_secret'] : [];
}
