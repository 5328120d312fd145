// Plays a client that asks users by backchannel requests: it asks, polls, and lets a user decide in the account.
import { cibaGrant } from '../../src/oauth/registrable-values.ts';
import type { Answer } from './grants.ts';
import type { TestClient, TestService } from './service.ts';
import { hiddenFields, type Page, tokenRequest, type UserAgent } from './user-agent.ts';

export const cibaMetadata = {
  client_name: 'Harbour Bank',
  client_uri: 'https://bank.example/',
  redirect_uris: [],
  grant_types: [cibaGrant, 'refresh_token'],
  response_types: [],
  scope: 'openid profile email offline_access',
};

/** Sends a backchannel request, as the client that the form or the header authenticates. */
export async function askUser(
  base: string,
  client: TestClient,
  parameters: Record<string, string>,
  headers: Record<string, string> = { authorization: client.basic },
): Promise<Answer> {
  const response = await fetch(`${base}/bc-authorize`, {
    method: 'POST',
    body: new URLSearchParams({ scope: 'openid', ...parameters }),
    headers,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

export function poll(base: string, client: TestClient, auth_req_id: string, more: Record<string, string> = {}) {
  return tokenRequest(base, client, { grant_type: cibaGrant, auth_req_id, ...more });
}

/** Gives a client a grant of a user, as an earlier consent does: without one it reaches nobody. */
export const grantSomething = (service: TestService, client: TestClient, sub: string) =>
  service.database.sql(
    `INSERT INTO grants (sub, client_id, granted) VALUES ($1, $2, '{"scope": ["openid"], "claims": [], "resources": {}}')
     ON CONFLICT DO NOTHING`,
    [sub, client.clientId],
  );

/** Lets the next poll of each request come at once. */
export const allowPolls = (service: TestService) =>
  service.database.sql('UPDATE backchannel_requests SET next_poll_at = now()');

/** The ids of the requests on the page, newest first. */
export const shownRequests = ({ body }: Pick<Page, 'body'>): string[] =>
  [...body.matchAll(/name="request" value="([^"]+)"/g)].map(([, id]) => id!);

/** Answers the newest request on the page of a signed-in browser. */
export async function answer(agent: UserAgent, decision: 'allow' | 'deny' = 'allow', id?: string): Promise<Page> {
  const page = await agent.get('/account/requests');
  const request = id ?? shownRequests(page)[0] ?? '6b3c7b8e-30cc-4e76-8a5b-6a1f7a3f1f11';
  const { csrf = '' } = hiddenFields(page.body);
  return agent.follow(await agent.post('/account/requests', { csrf, request, decision }));
}
