// Lists the kinds of connections whose users sign in at another site.
import type { ConnectionKind } from './kind.ts';
import { createOidcKind, type OidcOptions } from './oidc/oidc.ts';

export type ConnectionKindOptions = OidcOptions;

/** One line for each. */
const makers: ((options: ConnectionKindOptions) => ConnectionKind)[] = [createOidcKind];

export type ConnectionKinds = Pick<Map<string, ConnectionKind>, 'get'>;

export const createConnectionKinds = (options: ConnectionKindOptions): ConnectionKinds =>
  new Map(makers.map((make) => make(options)).map((kind) => [kind.kind, kind]));
