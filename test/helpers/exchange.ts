// Declares what an exchange needs: an API with its client, a client that may exchange, and the policy between them; and sends the requests.
import { tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { tokenTypes } from '../../src/oauth/token-exchange.ts';
import { type Answer, call } from './grants.ts';
import type { TestClient, TestService } from './service.ts';
import { tokenRequest } from './user-agent.ts';

export const exchangeMetadata = {
  redirect_uris: [],
  response_types: [],
  grant_types: [tokenExchangeGrant, 'client_credentials'],
};

/** Creates or changes something by the API of administrators. @throws if it is refused */
export async function made(
  service: TestService,
  token: string,
  path: string,
  body: object,
  method = 'POST',
): Promise<Record<string, unknown>> {
  const answer = await call(`${service.issuer}/admin/api/${path}`, { method, token, body });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Exchanges a subject token, an access token unless the fields say another type. */
export function exchange(
  base: string,
  client: Pick<TestClient, 'basic'>,
  subjectToken: string,
  fields: Record<string, string> = {},
): Promise<Answer> {
  return tokenRequest(base, client, {
    grant_type: tokenExchangeGrant,
    subject_token: subjectToken,
    subject_token_type: tokenTypes.accessToken,
    ...fields,
  });
}
