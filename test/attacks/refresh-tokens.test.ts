// Attacks refresh tokens: old tokens after the grace period, quick rotations, and a token of another client.
import { beforeAll, expect } from 'vitest';
import { type Answer, obtainTokens, refresh, type Tokens, userinfo } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { pkce, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { introspect, second, useService } from '../spec/kit.ts';
import { attack } from './attack.ts';

const service = useService();
let alice: { sub: string; username: string; password: string };
let agent: UserAgent;
/** A client that may introspect every token. */
let auditor: TestClient;
beforeAll(async () => {
  alice = await service().createUser();
  agent = new UserAgent(service());
  auditor = await service().createClient();
  await service().database.sql(`UPDATE clients SET introspect = 'any' WHERE client_id = $1`, [auditor.clientId]);
  await agent.signIn(alice);
});

const invalidGrant = { status: 400, body: { error: 'invalid_grant' } };
const ok = { status: 200 };
const next = (answer: Answer): string => answer.body['refresh_token'] as string;

/** The first tokens of a client, and how it refreshes: a confidential client with its secret, a public one with its client_id. */
interface Family {
  client: TestClient;
  tokens: Tokens;
  use(token: string, instance?: number): Promise<Answer>;
}

async function confidential(): Promise<Family> {
  const client = await service().createClient();
  const tokens = await obtainTokens(service(), client, undefined, {}, agent);
  return { client, tokens, use: (token, index = 0) => refresh(service().instances[index]!, client, token) };
}

async function open(): Promise<Family> {
  const client = await service().createClient({ token_endpoint_auth_method: 'none' });
  const { clientId: client_id, redirectUri: redirect_uri } = client;
  const { code_verifier, ...challenge } = pkce();
  const { code } = responseParameters(await agent.authorize(client, undefined, challenge));
  const fields = { grant_type: 'authorization_code', code: code!, client_id, redirect_uri, code_verifier };
  const { body } = await tokenRequest(service().issuer, undefined, fields);
  return {
    client,
    tokens: body as unknown as Tokens,
    use: (refresh_token, index = 0) =>
      tokenRequest(service().instances[index]!, undefined, { grant_type: 'refresh_token', refresh_token, client_id }),
  };
}

/** Moves the first uses of the client's spent tokens into the past. */
const age = ({ client }: Family, seconds: number) =>
  service().database.sql(
    `UPDATE refresh_tokens rt SET spent_at = spent_at - make_interval(secs => $2) FROM client_sessions cs
      WHERE cs.id = rt.client_session_id AND cs.client_id = $1 AND rt.spent_at IS NOT NULL`,
    [client.clientId, seconds],
  );
const events = ({ client }: Family, type: string) =>
  service().database.sql('SELECT outcome, sub, actor FROM audit_events WHERE type = $1 AND client_id = $2', [
    type,
    client.clientId,
  ]);

attack(
  {
    id: 'A51',
    name: 'Old token after the grace period',
    request:
      'Two rotations, then eleven seconds after the first use the first token, the second, the live one and all access tokens, by a confidential and by a public client, on two instances',
    answer:
      'invalid_grant and invalid_token for all of them: the family is dead, and one event reports the reuse; within the grace period the first token still returned a successor',
    source: 'RFC 9700 4.14.2, token-generation tests of ory/hydra',
    requirements: ['R33', 'R31'],
  },
  async () => {
    for (const begin of [confidential, open]) {
      for (const old of [0, 1]) {
        const family = await begin();
        const first = await family.use(family.tokens.refresh_token);
        const latest = await family.use(next(first), 1);
        const sibling = await family.use(family.tokens.refresh_token, 1);
        for (const answer of [first, latest, sibling]) expect(answer).toMatchObject(ok);
        const chain = [family.tokens.refresh_token, next(first), next(latest), next(sibling)];
        expect(new Set(chain).size).toBe(4);

        const live = await introspect(service().issuer, auditor, latest.body['access_token'] as string);
        expect(live.body['active']).toBe(true);
        await age(family, 11);
        for (const token of [chain[old]!, ...chain, ...chain])
          expect(await family.use(token, old)).toMatchObject(invalidGrant);
        for (const answer of [{ body: family.tokens } as unknown as Answer, first, latest, sibling]) {
          const token = answer.body['access_token'] as string;
          expect(await userinfo(second(service()), token)).toMatchObject({
            status: 401,
            body: { error: 'invalid_token' },
          });
          expect((await introspect(service().issuer, auditor, token)).body).toEqual({ active: false });
        }
        expect(await events(family, 'refresh_token.reused')).toEqual([
          { outcome: 'failure', sub: alice.sub, actor: family.client.clientId },
        ]);
      }
    }
  },
);

attack(
  {
    id: 'A53',
    name: 'Two rotations in one second',
    request:
      'Rotations within one second of the clock, with their times of use made equal to the microsecond, and after the grace period each generation but the last',
    answer:
      'Each is spent and ends the family: the row stores that a token is spent, and no time is compared with another',
    source: 'keycloak#50999, CVE-2026-1035',
    requirements: ['R34'],
  },
  async () => {
    for (const old of [0, 1, 2]) {
      const family = await confidential();
      const chain = [family.tokens.refresh_token];
      for (let turn = 0; turn < 3; turn++) chain.push(next(await family.use(chain.at(-1)!, turn % 2)));
      await service().database.sql(
        `UPDATE refresh_tokens rt SET spent_at = CASE WHEN rt.spent_at IS NULL THEN NULL ELSE date_trunc('second', now()) - interval '11 seconds' END,
                expires_at = date_trunc('second', now()) + interval '1 hour'
           FROM client_sessions cs WHERE cs.id = rt.client_session_id AND cs.client_id = $1`,
        [family.client.clientId],
      );
      expect(await family.use(chain[old]!, 1), `generation ${old}`).toMatchObject(invalidGrant);
      expect(await family.use(chain[3]!)).toMatchObject(invalidGrant);
      expect(await events(family, 'refresh_token.reused')).toHaveLength(1);
    }
    // the last token, which is not spent, is valid, although the others are old
    const family = await confidential();
    const live = next(await family.use(next(await family.use(family.tokens.refresh_token))));
    await age(family, 3600);
    expect(await family.use(live, 1)).toMatchObject(ok);
  },
);

attack(
  {
    id: 'A56',
    name: 'Refresh by another client',
    request:
      'Another confidential client, and a public one by its client_id alone, present a client’s live refresh token, its spent one, and its spent one after the grace period',
    answer:
      'invalid_grant each time, with one event of misuse each; the client’s own token works as before, and its grace period is not affected',
    source: 'RFC 6749 10.4',
    requirements: ['R37', 'R33'],
  },
  async () => {
    const owner = await confidential();
    const otherFamilies = [await confidential(), await open()];
    const present = async (token: string) => {
      for (const otherFamily of otherFamilies)
        for (const index of [0, 1]) expect(await otherFamily.use(token, index)).toMatchObject(invalidGrant);
    };
    await present(owner.tokens.refresh_token);
    const first = await owner.use(owner.tokens.refresh_token);
    expect(first).toMatchObject(ok);
    await present(owner.tokens.refresh_token);
    for (let again = 0; again < 5; again++)
      expect(await owner.use(owner.tokens.refresh_token, again % 2)).toMatchObject(ok);
    await age(owner, 11);
    await present(owner.tokens.refresh_token);
    expect(await owner.use(next(first))).toMatchObject(ok);
    expect(await userinfo(service().issuer, owner.tokens.access_token)).toMatchObject(ok);
    expect(await events(owner, 'refresh_token.reused')).toEqual([]);
    const misuse = await events(owner, 'refresh_token.misused');
    expect(misuse).toHaveLength(12);
    for (const otherFamily of otherFamilies)
      expect(misuse.filter(({ actor }) => actor === otherFamily.client.clientId)).toHaveLength(6);
    for (const otherFamily of otherFamilies)
      expect(await otherFamily.use(otherFamily.tokens.refresh_token)).toMatchObject(ok);
  },
);
