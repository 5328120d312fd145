// All steps of a request share one deadline for the database.
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { currentDeadline, type Deadline } from '../../src/database/deadline.ts';
import { onlyForms } from '../../src/server/form-body.ts';
import { addPipeline } from '../../src/server/pipeline.ts';

test('each request has a separate deadline, also when its body arrives in pieces (security R108)', async () => {
  const deadlinesOf = new Map<string, Set<Deadline>>();
  const app = Fastify();
  addPipeline(app, {
    metrics: { observe: () => undefined },
    headers: {},
    prefixHeaders: { prefix: '/', headers: {} },
    crossOriginPaths: [],
  });
  await onlyForms(app);
  app.post<{ Params: { name: string } }>('/:name', async ({ params }) => {
    const deadlines = new Set<Deadline>();
    deadlinesOf.set(params.name, deadlines.add(currentDeadline()));
    await delay(1);
    deadlines.add(currentDeadline());
    return {};
  });
  await app.listen({ port: 0 });
  try {
    const { port } = app.server.address() as AddressInfo;
    await Promise.all([1, 2, 3].map((name) => inPieces(port, `/${name}`)));
  } finally {
    await app.close();
  }
  const all = [...deadlinesOf.values()].map((deadlines) => [...deadlines]);
  expect(all.map((deadlines) => deadlines.length)).toEqual([1, 1, 1]);
  expect(new Set(all.flat()).size).toBe(3);
});

function inPieces(port: number, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = request({ port, path, method: 'POST', headers }, (answer) => answer.resume().on('end', resolve));
    sent.on('error', reject).write('a=1');
    setTimeout(() => sent.end('&b=2'), 20);
  });
}
