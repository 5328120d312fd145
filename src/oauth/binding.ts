// Names the key that a token is bound to.

/**
 * A token bound to a key serves only the client that proves to hold the key: by a DPoP proof (RFC 9449 section 6.1) or by its
 * certificate (RFC 8705 section 3.1). `none` is a Bearer token (RFC 6750).
 */
export type Binding = 'none' | { readonly jkt: string } | { readonly x5t: string };
