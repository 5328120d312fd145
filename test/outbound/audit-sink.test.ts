// A collector of the audit stream gets events only over TLS with a certificate of its name, and only outside of the network unless OUTBOUND_ALLOW names it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuditSink } from '../../src/outbound/audit-sink.ts';
import { createGuardedSend } from '../../src/outbound/guarded-fetch.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Collector, httpCollector, syslogCollector } from '../helpers/collector.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-sink-'));
  for (const [name, options] of Object.entries({
    good: {},
    stranger: {},
    'of another name': { name: 'other.example' },
    ended: { days: -1 },
  })) {
    mkdirSync(join(folder, name));
    makeCertificates(join(folder, name), options);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const authority = (name: string) => readFileSync(join(folder, name, 'ca.pem'), 'utf8');
const line = { id: '1', at: new Date(), type: 'group.changed', outcome: 'success', text: '{"id":"1"}' } as const;
/** Sends a line to an address, with the settings that a test names. */
async function send(url: string, { ca, allowed }: { ca: string | undefined; allowed: readonly string[] }) {
  const sink = createAuditSink({ url, token: undefined, ca, allowed }, createGuardedSend(allowed));
  try {
    await sink.send([line]);
  } finally {
    sink.stop();
  }
}
type Running = Collector & { received?: { body: string }[]; messages?: string[] };
/** All that a collector got. */
const got = ({ received = [], messages = [] }: Running) => [...messages, ...received.map(({ body }) => body)];

test.each(['syslog+tls', 'https', 'otlp+https'])(
  'a collector of %s with a certificate of another authority or name, or that has ended, gets nothing, and neither does one inside of the network (federation 14, FR46)',
  async (scheme) => {
    const start = (name: string): Promise<Running> =>
      (scheme === 'syslog+tls' ? syslogCollector : httpCollector)(join(folder, name));
    const wrong: [string, string | undefined][] = [
      ['stranger', authority('good')],
      ['stranger', undefined],
      ['of another name', authority('of another name')],
      ['ended', authority('ended')],
    ];
    for (const [name, ca] of wrong) {
      const collector = await start(name);
      const sent = send(`${scheme}://${collector.host}/`, { ca, allowed: [collector.host] });
      await expect(sent).rejects.toThrow(
        /^the collector cannot be reached \((?:UNABLE_TO_VERIFY_LEAF_SIGNATURE|[A-Z_]*CERT[A-Z_]*)\)$/,
      );
      expect([name, got(collector)]).toEqual([name, []]);
      await collector.stop();
    }
    const collector = await start('good');
    const ca = authority('good');
    const { port } = new URL(`https://${collector.host}`);
    // a name that leads inward is found out when it is looked up
    for (const host of [collector.host, `127.0.0.1:${port}`, `[::1]:${port}`, `${hostname()}:${port}`])
      await expect(send(`${scheme}://${host}/`, { ca, allowed: [] })).rejects.toThrow(/not (public|allowed)/);
    expect(collector.sessions.begun).toBe(0);
    await send(`${scheme}://${collector.host}/`, { ca, allowed: [collector.host] });
    await expect.poll(() => got(collector)).toHaveLength(1);
    await collector.stop();
  },
);
