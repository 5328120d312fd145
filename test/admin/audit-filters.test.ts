// The filters of the audit trail, in every combination: each is a statement of its own, prepared under a name of its own.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
});
afterAll(() => service?.stop());

/** How a filter of the list or of the export is answered. */
async function statusOf(path: string, filter: Record<string, string>): Promise<number> {
  const answer = await fetch(`${service.issuer}/admin/api/audit${path}?${new URLSearchParams(filter).toString()}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await answer.text();
  return answer.status;
}

test('two filters whose values and names look alike are both answered, in either order (security R125)', async () => {
  const alike: Record<string, string>[] = [
    { type: 'token.issued' },
    { actor: 'token.issued' },
    { sub: 'token.issued' },
  ];
  for (const filter of [...alike, ...alike.reverse(), ...alike])
    expect(await statusOf('', filter), JSON.stringify(filter)).toBe(200);
});

test('every combination of filters is answered by the list and by the export (security R125)', async () => {
  const values = {
    address: '192.0.2.1',
    actor: 'somebody',
    sub: 'somebody',
    client_id: 'something',
    type: 'token.revoked',
    outcome: 'failure',
    since: '2026-01-01T00:00:00Z',
    until: '2026-01-02T00:00:00Z',
  };
  const first = await call(`${service.issuer}/admin/api/audit?limit=1`, { token });
  const cursor = first.body['next_cursor'] as string;
  const combinations: Record<string, string>[] = [{}];
  for (const [name, value] of Object.entries(values))
    combinations.push(...combinations.map((filter) => ({ ...filter, [name]: value })));
  const failed: string[] = [];
  for (const filter of combinations) {
    const success = 'outcome' in filter ? [{ ...filter, outcome: 'success' }] : [];
    for (const each of [filter, ...success]) {
      const asked: [string, Record<string, string>][] = [
        ['', each],
        ['', { ...each, cursor }],
        ['/export', each],
      ];
      for (const [path, query] of asked)
        if ((await statusOf(path, query)) !== 200) failed.push(`${path} ${JSON.stringify(query)}`);
    }
  }
  expect(failed).toEqual([]);
}, 60_000);
