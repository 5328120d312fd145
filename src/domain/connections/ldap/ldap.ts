// Declares connections to directories: users type their password here, and the directory verifies it (federation 6).
import { OAuthError } from '../../../oauth/errors.ts';
import { readName } from '../../../rules/connections/distinguished-name.ts';
import { refusal } from '../../../oauth/refusals.ts';
import { type Directories } from '../../../outbound/directories.ts';
import { addressProblem } from '../../../outbound/directory-address.ts';
import type { ConnectionKind, ConnectionVariant } from '../kind.ts';
import { directorySettings, ldapSettings, settingsOf } from './settings.ts';

export interface LdapOptions {
  directories: Directories;
  /** CONNECTIONS_ALLOW */
  directoriesAllowed: readonly string[];
}

type Code = `connection.directory-${'address' | 'plain' | 'not-allowed' | 'filter' | 'name'}`;
const refused = (code: Code, member: string) => new OAuthError('invalid_request', refusal(code, `settings.${member}`));

export const directoryVariant: ConnectionVariant = {
  settings: directorySettings,
  // each kind has its own shape of settings, which the common type does not know
  shape: ldapSettings as unknown as ConnectionVariant['shape'],
  // the id of the connection is the issuer; few directories state whether an address is verified (federation 4)
  profile: () => ({ issuer: undefined, credential: 'secret', wordCounts: false, isPosted: false }),
};

export const createLdapKind = ({ directories, directoriesAllowed }: LdapOptions): ConnectionKind => ({
  kind: 'ldap',
  variant: (preset) => (preset === undefined ? directoryVariant : undefined),
  /** Checks the settings without the network: saving opens no connection (federation F59). */
  async discover({ settings: given }) {
    const { url, starttls, user_filter, group_filter, base, bind_dn, group_base } = settingsOf({ settings: given });
    const problem = addressProblem({ url, startTls: starttls }, directoriesAllowed);
    if (problem === 'form') throw refused('connection.directory-address', 'url');
    if (problem === 'plain') throw refused('connection.directory-plain', 'url');
    if (problem === 'not_allowed') throw refused('connection.directory-not-allowed', 'url');
    for (const [member, filter] of Object.entries({ user_filter, group_filter }))
      if (!(await directories.isFilter(filter))) throw refused('connection.directory-filter', member);
    for (const [member, name] of Object.entries({ base, bind_dn, group_base }))
      // Active Directory also takes user@domain as the name of an account
      if (name !== undefined && !readName(name) && !(member === 'bind_dn' && /^[^\s@]+@[^\s@]+$/.test(name)))
        throw refused('connection.directory-name', member);
    return undefined;
  },
});
