// Plays a receiver of webhooks, a collector of the audit stream and one of traces, and connects a service under load with them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates } from '../test/helpers/certificates.ts';
import type { Bed } from './bed.ts';
import { command } from './children.ts';

export interface Signals {
  /** Settings of the service: the stream, and traces of one request in a hundred. */
  settings: Record<string, string>;
  /** Creates a webhook that gets every event. */
  addWebhook(bed: Bed): Promise<void>;
  /** How many requests each receiver has had. */
  counts: Record<'webhook' | 'stream' | 'traces', number>;
  stop(): void;
}

export async function startSignals(): Promise<Signals> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-signals-'));
  makeCertificates(folder);
  const counts: Signals['counts'] = { webhook: 0, stream: 0, traces: 0 };
  const take = (name: keyof typeof counts) => (request: IncomingMessage, response: ServerResponse) => {
    counts[name]++;
    request.resume().on('end', () => response.writeHead(200).end());
  };
  const [key, cert] = ['server.key', 'server.pem'].map((file) => readFileSync(join(folder, file)));
  const servers = [createServer(take('webhook')), createServer(take('traces'))];
  const tls = createHttpsServer({ key, cert }, take('stream'));
  const [webhook, traces, stream] = await Promise.all([...servers, tls].map(listening));
  return {
    settings: {
      OUTBOUND_ALLOW: `localhost:${webhook},localhost:${stream}`,
      AUDIT_STREAM: `https://localhost:${stream}/`,
      AUDIT_STREAM_CA: join(folder, 'ca.pem'),
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://localhost:${traces}`,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    },
    async addWebhook({ settings }) {
      await command(['webhook', 'create', 'Bench', '--url', `http://localhost:${webhook}/`, '--event', '*'], settings);
    },
    counts,
    stop() {
      for (const server of [...servers, tls]) {
        server.close();
        server.closeAllConnections();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  return (server.address() as AddressInfo).port;
}
