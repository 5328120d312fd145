// Saves connections to the stand-ins of presets as an administrator does, and walks a browser through them.
import { generateKeyPairSync } from 'node:crypto';
import { leave, signInPage } from './connections.ts';
import { adminToken, call } from './grants.ts';
import { type Preset, type PresetProvider, startPresetProvider, tenants } from './preset-provider.ts';
import type { TestService } from './service.ts';
import type { Page, UserAgent } from './user-agent.ts';

export const canary = 'canary-of-the-preset-secret-9c1d';
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const appleKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export const presets = ['google', 'microsoft', 'github', 'apple', 'service'] as const;
export type PresetProviders = Record<Preset, PresetProvider>;

export async function startPresetProviders(): Promise<PresetProviders> {
  const started = await Promise.all(presets.map(async (one) => [one, await startPresetProvider(one)] as const));
  return Object.fromEntries(started) as PresetProviders;
}

/** What an administrator enters for each. The address of the stand-in is allowed because OUTBOUND_ALLOW names it. */
export function connectionTo(preset: Preset, { origin }: Pick<PresetProvider, 'origin'>): Record<string, unknown> {
  const common = { id: preset, display_name: `The ${preset}`, status: 'enabled', provisioning: 'on', secret: canary };
  switch (preset) {
    case 'google':
      return { ...common, kind: 'oidc', preset, settings: { client_id: 'g', issuer: origin } };
    case 'microsoft':
      return {
        ...common,
        kind: 'oidc',
        preset,
        settings: { client_id: 'm', tenants: [tenants[0]], authority: origin },
      };
    case 'apple': {
      const settings = {
        client_id: 'com.example.gatehouse',
        team_id: 'TEAM000001',
        key_id: 'KEY0000001',
        issuer: origin,
      };
      return { ...common, kind: 'oidc', preset, settings, secret: appleKey };
    }
    case 'github':
      return { ...common, kind: 'oauth', preset, settings: { client_id: 'h', base: origin } };
    case 'service': {
      const settings = {
        client_id: 's',
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        userinfo_endpoint: `${origin}/me`,
      };
      return { ...common, kind: 'oauth', settings };
    }
  }
}

/** Saves connections by the admin API. */
export async function createAdministrator(service: TestService) {
  const token = await adminToken(service);
  const path = `${service.issuer}/admin/api/connections`;
  return {
    create: (body: Record<string, unknown>) => call(path, { method: 'POST', token, body }),
    change: (id: string, body: Record<string, unknown>) => call(`${path}/${id}`, { method: 'PATCH', token, body }),
    show: (id: string) => call(`${path}/${id}`, { token }),
    delete: (id: string) => call(`${path}/${id}`, { method: 'DELETE', token }),
    link: (sub: string, body: Record<string, unknown>) =>
      call(`${service.issuer}/admin/api/users/${sub}/connections`, { method: 'POST', token, body }),
  };
}

/** Leaves for the provider. @returns the answer that it posts, or to which it redirects */
export async function answered(
  agent: UserAgent,
  id: string,
  address = '/login',
): Promise<{ address: string; form: Record<string, string> | undefined }> {
  const left = await leave(agent, await signInPage(agent, id, address), id);
  if (left.location === undefined) throw new Error(`no redirect (${left.status}): ${left.body.slice(0, 2000)}`);
  const response = await fetch(left.location, { redirect: 'manual' });
  if (response.status === 302) return { address: response.headers.get('location')!, form: undefined };
  const { action, form } = (await response.json()) as { action: string; form: Record<string, string> };
  return { address: action, form };
}

/** Posts as a page of another site does: no cookie of ours goes with it (SameSite=Lax). */
export const postFromElsewhere = (address: string, form: Record<string, string>): Promise<Response> =>
  fetch(address, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams(form),
    headers: { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  });

/** Signs in by a connection, whatever way its answer takes. */
export async function signInBy(agent: UserAgent, id: string, address = '/login'): Promise<Page> {
  const answer = await answered(agent, id, address);
  if (!answer.form) return agent.follow(await agent.get(answer.address));
  const posted = await postFromElsewhere(answer.address, answer.form);
  return agent.follow(await agent.get(new URL(posted.headers.get('location')!, answer.address).href));
}
