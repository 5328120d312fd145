// Names the key that a token is bound to.

/**
 * A token bound to a key serves only the client that proves to hold the key: by a DPoP proof (RFC 9449 section 6.1) or by its
 * certificate (RFC 8705 section 3.1). `none` is a Bearer token (RFC 6750).
 */
export type Binding = 'none' | { readonly jkt: string } | { readonly x5t: string };

/** Whether a request that proved `held` may use what is bound to `required`. */
export function satisfies(held: Binding, required: Binding): boolean {
  if (required === 'none') return true;
  if (held === 'none') return false;
  if ('jkt' in required) return 'jkt' in held && held.jkt === required.jkt;
  return 'x5t' in held && held.x5t === required.x5t;
}

/** The kinds of key to which a resource can demand that its tokens are bound. */
export const resourceBindings = ['none', 'any', 'dpop', 'mtls'] as const;
export type ResourceBinding = (typeof resourceBindings)[number];

/** Whether a resource takes tokens with this binding. The stored functions that issue for codes and refresh tokens decide the same. */
export function isBoundFor(demanded: ResourceBinding, binding: Binding): boolean {
  if (demanded === 'none') return true;
  return binding !== 'none' && (demanded === 'any' || (demanded === 'dpop' ? 'jkt' in binding : 'x5t' in binding));
}

/** How a token is presented. A certificate goes with the connection, and its tokens are Bearer tokens (RFC 8705 3). */
export const tokenTypeOf = (binding: Binding): 'Bearer' | 'DPoP' =>
  binding !== 'none' && 'jkt' in binding ? 'DPoP' : 'Bearer';
