// Sends the operations to the bare reference: as many requests as an operation needs at least.
import { certificateHeader } from '../certificates.ts';
import { type Child } from '../children.ts';
import { expectStatus, redirectUri } from '../flows.ts';
import { type Ask, loadFlow, loadWith } from '../load.ts';
import { proofsFor } from '../proofs.ts';
import { askOver, Wire } from '../wire.ts';
import { forEach, post, type Side } from './side.ts';

export async function bareSide({ base, pid }: Child, people: number): Promise<Side> {
  const wires = await forEach(16, () => Wire.open(base));
  const json = async (ask: Ask, request: Parameters<Ask>[0]) =>
    JSON.parse(expectStatus(await ask(request), 200).body) as Record<string, string>;
  const token = post('/token', 'Basic eDp4', { grant_type: 'client_credentials' });
  const asks = wires.map<Ask>((wire) => (request) => askOver(wire, base, request));
  const rows: string[] = [];
  const jwts: string[] = [];
  for (let index = 0; index < people; index++) {
    rows.push((await json(asks[0]!, token))['access_token']!);
    jwts.push((await json(asks[0]!, { method: 'GET', path: '/jwt' }))['jwt']!);
  }
  for (const wire of wires) wire.close();
  const refresh = [...rows];

  const introspect = (path: string, tokens: string[]) =>
    tokens.map((value) => post(path, 'Basic eDp4', { token: value, token_type_hint: 'access_token' }));
  const userinfo = (value: string) => ({
    method: 'GET' as const,
    path: '/user',
    headers: { authorization: `Bearer ${value}` },
  });
  const settings = JSON.stringify({ settings: { theme: 'dark', lines: 50 } });
  /** Starts at the answer with the code. */
  const redeem = async (ask: Ask, location: string | undefined) => {
    const code = new URL(location ?? redirectUri).searchParams.get('code')!;
    const tokens = await json(
      ask,
      post('/redeem', 'Basic eDp4', { token: code, code_verifier: 'v', redirect_uri: redirectUri }),
    );
    expectStatus(await ask(userinfo(tokens['access_token']!)), 200);
  };
  /** Changes one row. */
  const proofs = proofsFor(base);
  const certificate = certificateHeader();
  const update = loadWith(
    base,
    rows.map((value) => ({
      method: 'PUT',
      path: '/settings',
      headers: { authorization: `Bearer ${value}`, 'content-type': 'application/json' },
      body: settings,
    })),
  );
  return {
    pidOf: () => pid,
    loads: {
      'introspect-live': loadWith(base, introspect('/introspect', rows)),
      'introspect-inactive': loadWith(
        base,
        introspect(
          '/introspect',
          rows.map((value) => `x${value}`),
        ),
      ),
      'introspect-malformed': loadWith(base, introspect('/parse', ['no token'])),
      'introspect-mtls': loadWith(base, introspect('/introspect', rows)),
      'introspect-jwt': loadWith(base, introspect('/introspect-jwt', jwts)),
      'forward-auth': loadWith(base, rows.map(userinfo)),
      'forward-auth-assertion': loadWith(base, rows.map(userinfo)),
      'client-credentials': loadWith(base, [token]),
      'client-credentials-jwt': loadWith(base, [
        post('/token-jwt', 'Basic eDp4', { grant_type: 'client_credentials' }),
      ]),
      'token-exchange': loadWith(
        base,
        rows.map((value) => post('/exchange', 'Basic eDp4', { subject_token: value })),
      ),
      refresh: loadFlow(base, async (ask, connection) => {
        const spent = { token: refresh[connection]!, grant_type: 'refresh_token' };
        refresh[connection] = (await json(ask, post('/redeem', 'Basic eDp4', spent)))['refresh_token']!;
      }),
      'device-poll': update,
      userinfo: loadWith(base, rows.map(userinfo)),
      'userinfo-dpop': loadFlow(base, async (ask, connection) => {
        const token = rows[connection]!;
        expectStatus(
          await ask({
            ...userinfo(token),
            path: '/user-bound',
            headers: { ...userinfo(token).headers, dpop: proofs('GET', '/user', token) },
          }),
          200,
        );
      }),
      'userinfo-mtls': loadWith(
        base,
        rows.map((value) => ({
          ...userinfo(value),
          path: '/user-certified',
          headers: { ...userinfo(value).headers, ...certificate },
        })),
      ),
      'code-flow': loadFlow(base, async (ask, connection) => {
        const path = `/authorize?session=${rows[connection]}&state=s`;
        await redeem(ask, (await ask({ method: 'GET', path })).location);
      }),
      'sign-in-flow': loadFlow(base, async (ask, connection) => {
        expectStatus(await ask({ method: 'GET', path: '/request' }), 200);
        expectStatus(await ask(post('/sign-in', 'Basic eDp4', { user: rows[connection]! })), 200);
        await redeem(ask, (await ask(post('/consent', 'Basic eDp4', { decision: 'allow' }))).location);
      }),
      password: loadWith(base, [post('/hash', 'Basic eDp4', { password: 'correct horse battery staple' })]),
      discovery: loadWith(base, [{ method: 'GET', path: '/discovery' }]),
      jwks: loadWith(base, [{ method: 'GET', path: '/jwks' }]),
      'settings-read': loadWith(base, rows.map(userinfo)),
      'settings-write': update,
      'scim-list': loadWith(base, [{ method: 'GET', path: '/list' }]),
      'scim-patch': update,
      'scim-create': loadWith(base, [token]),
    },
  };
}
