// Plays a device: asks for its codes, polls, and lets a user decide in a browser.
import { deviceGrant } from '../../src/oauth/registrable-values.ts';
import type { Answer } from './grants.ts';
import type { TestClient, TestService } from './service.ts';
import { type Page, tokenRequest, type UserAgent } from './user-agent.ts';

export const deviceMetadata = {
  client_name: 'Living Room TV',
  redirect_uris: [],
  grant_types: [deviceGrant, 'refresh_token'],
  response_types: [],
  scope: 'openid profile email offline_access',
};

export interface DeviceCodes {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  expires_in: number;
  interval: number;
}

/** Sends a device authorization request; a client without a secret sends its name. */
export async function askForCodes(
  base: string,
  client: TestClient,
  parameters: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isPublic = client.metadata.token_endpoint_auth_method === 'none';
  const response = await fetch(`${base}/device_authorization`, {
    method: 'POST',
    body: new URLSearchParams({ ...(isPublic && { client_id: client.clientId }), ...parameters }),
    headers: { ...(!isPublic && { authorization: client.basic }), ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

export async function deviceCodes(
  base: string,
  client: TestClient,
  parameters: Record<string, string> = {},
): Promise<DeviceCodes> {
  const { status, body } = await askForCodes(base, client, parameters);
  if (status !== 200) throw new Error(`no codes: ${status} ${JSON.stringify(body)}`);
  return body as unknown as DeviceCodes;
}

export function poll(
  base: string,
  client: TestClient,
  { device_code }: Pick<DeviceCodes, 'device_code'>,
  parameters: Record<string, string> = {},
): Promise<Answer> {
  const isPublic = client.metadata.token_endpoint_auth_method === 'none';
  return tokenRequest(base, isPublic ? undefined : client, {
    grant_type: deviceGrant,
    device_code,
    ...(isPublic && { client_id: client.clientId }),
    ...parameters,
  });
}

/** Lets the next poll of each device come at once. */
export const allowPolls = (service: TestService) =>
  service.database.sql('UPDATE device_authorizations SET next_poll_at = now()');

/** Opens the complete address in a signed-in browser, and decides. */
export async function decide(
  agent: UserAgent,
  { verification_uri_complete }: DeviceCodes,
  decision: 'allow' | 'deny' = 'allow',
): Promise<Page> {
  return agent.submit(await agent.get(verification_uri_complete), { decision });
}
