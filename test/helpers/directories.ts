// Connects the service of a test to a directory, and signs users in there.
import { associatedDataOf } from '../../src/repositories/keys/sealed-values.ts';
import { openEncryption } from '../../src/domain/keys/encryption-at-rest.ts';
import { ldapSettings } from '../../src/domain/connections/ldap/settings.ts';
import type { ActiveDirectory } from './active-directory.ts';
import { base, type DirectoryServer, serviceDn, servicePassword } from './directory-server.ts';
import type { TestService } from './service.ts';
import { type Page, UserAgent } from './user-agent.ts';

/** The settings of a connection to a directory of OpenLDAP in a test. */
export const settingsOf = (server: DirectoryServer): Record<string, unknown> => ({
  preset: 'openldap',
  url: server.secureUrl,
  ca: server.ca,
  bind_dn: serviceDn,
  base: `ou=people,${base}`,
  group_base: `ou=groups,${base}`,
});

/** The same for Active Directory. */
export const settingsOfActiveDirectory = (server: ActiveDirectory): Record<string, unknown> => ({
  preset: 'active_directory',
  url: server.url,
  ca: server.ca,
  bind_dn: server.administrator.dn,
  base: `CN=Users,${server.base}`,
  group_base: `CN=Users,${server.base}`,
});

/** Stores an enabled connection to a directory, as an administrator creates one. @param columns values by the names of the columns */
export async function addDirectory(
  service: TestService,
  id: string,
  settings: Record<string, unknown>,
  { password = servicePassword, ...columns }: Record<string, unknown> & { password?: string } = {},
): Promise<void> {
  const { secretBox } = await openEncryption(service.store, [service.secretKey]);
  const row: Record<string, unknown> = {
    id,
    kind: 'ldap',
    display_name: `The ${id}`,
    status: 'enabled',
    provisioning: 'on',
    secret_since: new Date(),
    secret_encrypted: secretBox.seal(password, associatedDataOf('connections.secret_encrypted', id)),
    ...Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [name, /_rules$/.test(name) ? JSON.stringify(value) : value]),
    ),
    settings: ldapSettings.parse(settings),
  };
  const names = Object.keys(row);
  await service.database.sql(
    `INSERT INTO connections (${names.join(', ')}) VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(row),
  );
}

/** Changes settings of a connection. */
export async function changeSettings(service: TestService, id: string, change: Record<string, unknown>): Promise<void> {
  await service.database.sql('UPDATE connections SET settings = settings || $2 WHERE id = $1', [id, change]);
}

/** Signs in with a name and a password by the ordinary form, and follows within the service. */
export async function signInWith(
  service: TestService,
  username: string,
  password = `password of ${username}`,
  agent = new UserAgent(service),
  address = '/login',
): Promise<{ page: Page; agent: UserAgent }> {
  const form = await agent.follow(await agent.get(address));
  return { page: await agent.signIn({ username, password }, form), agent };
}
