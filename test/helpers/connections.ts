// Makes connections to a provider of a test, and walks a browser through one.
import { associatedDataOf } from '../../src/repositories/keys/sealed-values.ts';
import { openEncryption } from '../../src/domain/keys/encryption-at-rest.ts';
import { type Provider, providerClient } from './provider.ts';
import type { TestService } from './service.ts';
import { hiddenFields, type Page, type UserAgent } from './user-agent.ts';

/** Stores an enabled connection, as an administrator creates one. @param columns values by the names of the columns */
export async function addConnection(
  service: TestService,
  provider: Provider,
  id: string,
  columns: Record<string, unknown> = {},
): Promise<void> {
  const { secretBox } = await openEncryption(service.store, [service.secretKey]);
  const discovery = await (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json();
  const settings = {
    ...provider.settings,
    token_endpoint_auth_method: 'client_secret_basic',
    scope: 'openid profile email',
    groups_claim: 'groups',
    userinfo: true,
    ...(columns['settings'] as object),
  };
  const row = {
    id,
    kind: 'oidc',
    display_name: `The ${id}`,
    status: 'enabled',
    discovered_at: new Date(),
    secret_since: new Date(),

    discovery,
    secret_encrypted: secretBox.seal(providerClient.secret, associatedDataOf('connections.secret_encrypted', id)),
    ...Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [name, /_rules$/.test(name) ? JSON.stringify(value) : value]),
    ),
    settings,
  };
  const names = Object.keys(row);
  await service.database.sql(
    `INSERT INTO connections (${names.join(', ')}) VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(row),
  );
  // the list of the sign-in page is a second old at most
  await new Promise((resolve) => setTimeout(resolve, 0));
}

/** Changes columns of a connection. */
export async function changeConnection(
  service: TestService,
  id: string,
  columns: Record<string, unknown>,
): Promise<void> {
  const names = Object.keys(columns);
  await service.database.sql(
    `UPDATE connections SET ${names.map((name, index) => `${name} = $${index + 2}`).join(', ')} WHERE id = $1`,
    [id, ...names.map((name) => (/_rules$/.test(name) ? JSON.stringify(columns[name]) : columns[name]))],
  );
}

/** The sign-in page; it shows a new connection within a second. */
export async function signInPage(agent: UserAgent, id: string, address = '/login'): Promise<Page> {
  for (;;) {
    const page = await agent.follow(await agent.get(address));
    if (page.body.includes(`/connections/${id}"`)) return page;
    if (page.status !== 200) throw new Error(`${page.url}: ${page.status}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Presses the button of a connection. @returns the redirect to the provider */
export async function leave(agent: UserAgent, page: Page, id: string): Promise<Page> {
  const form = page.body.slice(page.body.indexOf(`action="/connections/${id}"`));
  return agent.post(`/connections/${id}`, hiddenFields(form));
}

/** The address at which the provider's answer arrives. */
export async function answerOf(left: Page): Promise<string> {
  if (left.location === undefined)
    throw new Error(`no redirect from ${left.url} (${left.status}): ${left.body.slice(0, 3000)}`);
  const response = await fetch(left.location, { redirect: 'manual' });
  return response.headers.get('location')!;
}

/** Signs in by a connection, and follows within the service. */
export async function signInBy(agent: UserAgent, id: string, address = '/login'): Promise<Page> {
  const left = await leave(agent, await signInPage(agent, id, address), id);
  return agent.follow(await agent.get(await answerOf(left)));
}
