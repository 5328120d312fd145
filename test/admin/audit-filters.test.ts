// The audit list and its export accept every combination of filters; each combination is a separately named prepared statement.
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

/** Returns the status with which the list or the export answers a filter. */
async function statusOf(path: string, filter: Record<string, string>): Promise<number> {
  const answer = await fetch(`${service.issuer}/admin/api/audit${path}?${new URLSearchParams(filter).toString()}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await answer.text();
  return answer.status;
}

test('two filters with similar names and values are both accepted, in either order (security R125)', async () => {
  const similar: Record<string, string>[] = [
    { type: 'token.issued' },
    { actor: 'token.issued' },
    { sub: 'token.issued' },
  ];
  for (const filter of [...similar, ...similar.reverse(), ...similar])
    expect(await statusOf('', filter), JSON.stringify(filter)).toBe(200);
});

test('a filter has the same statement for every value, so that its text contains none (security R125)', async () => {
  const pairs: Record<string, [string, string]> = {
    address: ['192.0.2.1', '192.0.2.2'],
    actor: ['ada', 'bob'],
    sub: ['ada', 'bob'],
    client_id: ['harbour', 'quay'],
    type: ['token.revoked', 'user.created'],
    since: ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
    until: ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  };
  for (const [name, values] of Object.entries(pairs)) {
    const sent: string[][] = [];
    for (const value of values) {
      const before = service.ofRequests.length;
      for (const path of ['', '/export']) expect(await statusOf(path, { [name]: value, outcome: 'failure' })).toBe(200);
      sent.push(service.ofRequests.slice(before).filter((statement) => statement.startsWith('audit_')));
    }
    expect(sent[0], name).not.toEqual([]);
    expect(sent[1], name).toEqual(sent[0]);
  }
});

test('the list and the export accept every combination of filters (security R125)', async () => {
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
      const requests: [string, Record<string, string>][] = [
        ['', each],
        ['', { ...each, cursor }],
        ['/export', each],
      ];
      for (const [path, query] of requests)
        if ((await statusOf(path, query)) !== 200) failed.push(`${path} ${JSON.stringify(query)}`);
    }
  }
  expect(failed).toEqual([]);
});
