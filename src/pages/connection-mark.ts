// Says which mark stands for a connection: its uploaded logo, that of a known provider, or a sign for any other.
import type { Connection } from '../entities/connections.ts';
import { logoOf } from '../rules/images/address.ts';

export interface MarkView {
  /** Of the template part-provider-mark. */
  mark: NonNullable<Connection['preset']> | 'organization' | 'key';
  /** The path of the uploaded logo. */
  logo?: string;
}

export function markOf(connection: Pick<Connection, 'kind' | 'preset' | 'logo'>): MarkView {
  const logo = logoOf(connection);
  const mark = connection.preset ?? (connection.kind === 'oauth' ? 'key' : 'organization');
  return { mark, ...(logo !== undefined && { logo }) };
}
