// Performs the steps of the flow that need no browser, by requests to the service: redeems the code and uses the tokens.
import type { TryParameter, TryStep } from '../../../pages/views/try-it.ts';
import { openJwt, shown } from './id-token.ts';

/** The response of an endpoint. */
export interface Answer {
  status: number;
  contentType: string;
  body: string;
}
/** Sends a request to an endpoint, as the client would. */
export type Ask = (
  method: 'GET' | 'POST',
  path: string,
  headers: Record<string, string>,
  form?: Record<string, string>,
) => Promise<Answer>;

export interface Redemption {
  issuer: string;
  clientId: string;
  /** The token_endpoint_auth_method. */
  method: string;
  /** Used for these requests only, and stored nowhere. */
  secret: string | undefined;
  code: string;
  redirectUri: string;
  verifier: string;
  /** Whether to revoke the tokens at the end. */
  end: boolean;
}

const secrets = new Set(['access_token', 'refresh_token', 'id_token', 'code', 'code_verifier', 'token']);

export const parametersOf = (from: Record<string, unknown>): TryParameter[] =>
  Object.entries(from).map(([name, value]) => ({
    name,
    value: shown(value),
    ...(secrets.has(name) && { secret: true }),
  }));

/** Redeems a code, and performs each step for which there is a token. */
export async function walk(
  ask: Ask,
  redemption: Redemption,
): Promise<{ steps: TryStep[]; tokens: { access_token?: string; id_token?: string } }> {
  const { issuer, clientId, method, secret } = redemption;
  const steps: TryStep[] = [];

  /** Sends a request with the client's authentication; no shown step contains the secret. */
  async function asClient(name: TryStep['name'], path: string, form: Record<string, string>) {
    const proof: Record<string, string> =
      method === 'client_secret_post' ? { client_id: clientId, client_secret: secret ?? '' } : { client_id: clientId };
    const basic = `Basic ${Buffer.from(`${encode(clientId)}:${encode(secret ?? '')}`).toString('base64')}`;
    const byHeader = method === 'client_secret_basic';
    const sent = byHeader ? form : { ...form, ...proof };
    const answer = await ask('POST', path, byHeader ? { authorization: basic } : {}, sent);
    const parameters = parametersOf(byHeader ? form : { ...form, client_id: clientId });
    if (byHeader) parameters.unshift({ name: 'authorization', value: 'Basic …' });
    else if (method === 'client_secret_post') parameters.push({ name: 'client_secret', value: '…' });
    return record({ name, method: 'POST', uri: issuer + path, parameters }, answer);
  }
  function record(step: TryStep, answer: Answer): Record<string, unknown> {
    const body = readAnswer(answer);
    steps.push({ ...step, status: answer.status, answer: parametersOf(body) });
    return answer.status < 300 ? body : {};
  }

  const { code, redirectUri: redirect_uri, verifier: code_verifier } = redemption;
  const tokens = await asClient('token', '/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri,
    code_verifier,
  });
  const text = (name: string, from = tokens) => (typeof from[name] === 'string' ? from[name] : undefined);
  const [accessToken, idToken] = [text('access_token'), text('id_token')];
  let refreshToken = text('refresh_token');
  if (accessToken !== undefined) {
    record(
      {
        name: 'userinfo',
        method: 'GET',
        uri: `${issuer}/user/info`,
        parameters: [{ name: 'authorization', value: `Bearer ${accessToken}`, secret: true }],
      },
      await ask('GET', '/user/info', { authorization: `Bearer ${accessToken}` }),
    );
    await asClient('introspection', '/introspect', { token: accessToken });
  }
  if (refreshToken !== undefined) {
    const renewed = await asClient('refresh', '/token', { grant_type: 'refresh_token', refresh_token: refreshToken });
    refreshToken = text('refresh_token', renewed) ?? refreshToken;
  }
  if (redemption.end && accessToken !== undefined)
    await asClient('revocation', '/revoke', { token: refreshToken ?? accessToken });
  return {
    steps,
    tokens: {
      ...(accessToken !== undefined && { access_token: accessToken }),
      ...(idToken !== undefined && { id_token: idToken }),
    },
  };
}

/** The members of a JSON or signed response; of an encrypted one those of its header. */
function readAnswer({ contentType, body }: Answer): Record<string, unknown> {
  if (contentType.startsWith('application/jwt')) {
    const opened = openJwt(body);
    return opened ? { ...opened.header, ...opened.payload } : {};
  }
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Encodes a part of Basic credentials (RFC 6749 2.3.1). */
const encode = (part: string): string => encodeURIComponent(part).replaceAll('%20', '+');
