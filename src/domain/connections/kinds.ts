// Lists the kinds of connections.
import type { Connection } from '../../entities/connections.ts';
import { ConnectionFailure, type ConnectionKind, type ConnectionProfile, type ConnectionVariant } from './kind.ts';
import { createLdapKind, type LdapOptions } from './ldap/ldap.ts';
import { createOAuthKind } from './oauth/oauth.ts';
import { createOidcKind, type OidcOptions } from './oidc/oidc.ts';
import { createSamlKind, type SamlOptions } from './saml/saml.ts';

export type ConnectionKindOptions = OidcOptions & LdapOptions & SamlOptions;

/** One line for each kind. */
const makers: ((options: ConnectionKindOptions) => ConnectionKind)[] = [
  createOidcKind,
  createOAuthKind,
  createLdapKind,
  createSamlKind,
];

export type ConnectionKinds = Pick<Map<string, ConnectionKind>, 'get'>;

export const createConnectionKinds = (options: ConnectionKindOptions): ConnectionKinds =>
  new Map(makers.map((make) => make(options)).map((kind) => [kind.kind, kind]));

type Kept = Pick<Connection, 'kind' | 'preset' | 'settings'>;

/** The rules of a connection's settings; undefined for a kind or preset that is not built in. */
export const variantOfConnection = (
  kinds: ConnectionKinds,
  { kind, preset }: Pick<Kept, 'kind' | 'preset'>,
): ConnectionVariant | undefined => kinds.get(kind)?.variant(preset);

/**
 * The issuer of an identity at a connection.
 * @param named is that of a connection with several, whose settings do not tell it
 */
export function issuerOfIdentity(kinds: ConnectionKinds, connection: Kept & Pick<Connection, 'id'>, named?: string) {
  const profile = profileOfConnection(kinds, connection);
  const isNamed = profile && !profile.issuer && connection.kind !== 'ldap';
  return isNamed ? named : (profile?.issuer ?? connection.id);
}

/** The profile of a connection; undefined also if another version stored settings that do not fit. */
export function profileOfConnection(kinds: ConnectionKinds, connection: Kept): ConnectionProfile | undefined {
  try {
    return variantOfConnection(kinds, connection)?.profile(connection.settings);
  } catch (error) {
    if (!(error instanceof ConnectionFailure)) throw error;
    return undefined;
  }
}
