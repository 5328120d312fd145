// Walks through one API: it takes the JWT access tokens of the service that are meant for it, with a DPoP proof where they are bound, and no others.
import assert from 'node:assert/strict';
import { type Caller, newProofKey, postWithProof, present, type ProofOptions } from '../helpers/dpop.ts';
import { tokenRequest } from '../helpers/user-agent.ts';
import { type Party, startParty } from './party.ts';
import type { Provider } from './provider.ts';

/** A program that serves GET /notes with the scope notes.read, and answers with the subject of the token. */
export interface ApiParty extends Pick<Party, 'folder' | 'name' | 'command'> {
  fetch(): void;
  version(): string;
  /** Whether it checks DPoP proofs (RFC 9449 7). */
  acceptsProofs: boolean;
}

/** @throws the expectation that failed, with the output of the program */
export async function walkThroughApi(api: ApiParty, provider: Provider): Promise<void> {
  const { issuer, party } = provider;
  const resource = `${party.url}/${api.folder}`;
  const scope = 'notes.read';
  for (const uri of [resource, `${resource}/other`])
    await provider.administer('POST', '/resources', {
      resource: uri,
      name: api.name,
      scopes: [{ value: scope }, { value: 'notes.write' }],
      clients: 'approved',
      access_token_format: 'jwt',
    });
  const made = await provider.administer('POST', '/clients', {
    client_name: 'Reader',
    redirect_uris: [],
    grant_types: ['client_credentials'],
  });
  const { client_id: clientId, client_secret: secret } = made as Record<string, string>;
  const caller: Caller = {
    clientId: clientId!,
    basic: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
    metadata: { token_endpoint_auth_method: 'client_secret_basic' },
  };
  const grant = { grant_type: 'client_credentials', resource, scope };
  const tokenFor = async (parameters: Record<string, string>) => {
    const { status, body } = await tokenRequest(issuer, caller, parameters);
    assert.equal(status, 200, JSON.stringify(body));
    return body['access_token'] as string;
  };
  const program = await startParty({ ...api, callback: '', refreshes: false }, party.port, {
    ISSUER: issuer,
    CLIENT_ID: caller.clientId,
    CLIENT_SECRET: secret!,
    RESOURCE: resource,
  });
  try {
    const ask = async (headers: Record<string, string>) => {
      const answer = await fetch(`${party.url}/notes`, { headers });
      return { status: answer.status, body: answer.status === 200 ? ((await answer.json()) as unknown) : undefined };
    };
    const asBearer = (token: string) => ask({ authorization: `Bearer ${token}` });
    const token = await tokenFor(grant);
    assert.match(token, /^ey/);
    assert.deepEqual(await asBearer(token), { status: 200, body: { subject: caller.clientId } });
    assert.equal((await ask({})).status, 401, 'no token');
    const [head, payload, signature] = token.split('.') as [string, string, string];
    const changed = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    const refused = {
      'a token of another API': await tokenFor({ ...grant, resource: `${resource}/other` }),
      'a token without the resource': await tokenFor({ grant_type: 'client_credentials' }),
      'another signature': `${head}.${payload}.${changed}`,
    };
    for (const [what, other] of Object.entries(refused)) assert.equal((await asBearer(other)).status, 401, what);
    assert.equal((await asBearer(await tokenFor({ ...grant, scope: 'notes.write' }))).status, 403, 'another scope');

    if (!api.acceptsProofs) return;
    const [key, otherKey] = [await newProofKey(), await newProofKey()];
    const answer = await postWithProof({ issuer }, '/token', caller, grant, key);
    assert.equal(answer.body['token_type'], 'DPoP');
    const bound = answer.body['access_token'] as string;
    const prove = async (by = key, options: ProofOptions & { scheme?: string } = {}) => {
      const { status } = await present({ issuer: party.url }, '/notes', bound, by, options);
      return status;
    };
    assert.equal(await prove(), 200, 'a bound token with its proof');
    assert.equal((await asBearer(bound)).status, 401, 'a bound token as Bearer');
    assert.equal(await prove(otherKey), 401, 'a proof of another key');
    assert.equal(await prove(key, { claims: { ath: 'AAAA' } }), 401, 'a proof for another token');
    const claims = { jti: crypto.randomUUID() };
    assert.deepEqual([await prove(key, { claims }), await prove(key, { claims })], [200, 401], 'a proof twice');
  } catch (error) {
    const printed = program.output().split('\n').slice(-20).join('\n');
    throw new Error(`${api.name}: ${error instanceof Error ? error.message : String(error)}\n${printed}`, {
      cause: error,
    });
  } finally {
    await program.stop();
  }
}
