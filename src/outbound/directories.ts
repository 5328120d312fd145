// Opens directories, and loads the LDAP library when the first one is used.
import type { Directory } from './directory-address.ts';

export interface Directories extends Directory {
  /** Whether a text of an administrator is a filter (RFC 4515). */
  isFilter(text: string): Promise<boolean>;
}

/** @param allowed host:port of the directories that the operator allows (CONNECTIONS_ALLOW) */
export function createDirectories(allowed: readonly string[]): Directories {
  const library = () => import('./directory.ts');
  const open = async () => (await library()).createDirectory(allowed);
  return {
    use: async (address, work) => (await open()).use(address, work),
    verify: async (address, dn, password) => (await open()).verify(address, dn, password),
    isFilter: async (text) => (await library()).isFilter(text),
  };
}
