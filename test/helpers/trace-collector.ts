// Plays a collector of traces on the loopback: reads the requests of OTLP/HTTP in both of their forms, and answers as a test says.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { eventually } from './grants.ts';

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** Of the protocol: 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Record<string, string | number>;
  /** Of the protocol: 2 for a failure. */
  status: number;
}

type Answering = number | 'hang' | ((response: ServerResponse) => void);

export interface TraceCollector {
  /** OTEL_EXPORTER_OTLP_ENDPOINT. */
  endpoint: string;
  requests: { path: string; headers: IncomingHttpHeaders; body: Buffer }[];
  answer: Answering;
  spans(): CollectedSpan[];
  /** The resource of the last request. */
  resource(): Record<string, string | number>;
  /** Waits for spans that fulfil a condition. */
  find(isIt: (span: CollectedSpan) => boolean): Promise<CollectedSpan>;
  stop(): Promise<void>;
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const collected: CollectedSpan[] = [];
  let resource: CollectedSpan['attributes'] = {};
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((request, response) => {
    const read = buffer(request).then((body) => {
      collector.requests.push({ path: request.url ?? '', headers: request.headers, body });
      const { answer } = collector;
      if (answer === 200) {
        const isJson = request.headers['content-type'] === 'application/json';
        const found = isJson ? fromJson(body) : fromProtobuf(body);
        collected.push(...found.spans);
        resource = found.resource;
      }
      if (typeof answer === 'function') answer(response);
      else if (answer !== 'hang')
        response.writeHead(answer, answer === 302 ? { location: '/elsewhere' } : {}).end('{}');
    });
    read.catch(() => response.destroy());
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const collector: TraceCollector = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    answer: 200,
    spans: () => collected,
    resource: () => resource,
    async find(isIt) {
      return (await eventually(async () => collected.find(isIt), Boolean))!;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return collector;
}

interface Found {
  spans: CollectedSpan[];
  resource: CollectedSpan['attributes'];
}

interface JsonAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number };
}
interface JsonRequest {
  resourceSpans: {
    resource: { attributes: JsonAttribute[] };
    scopeSpans: {
      spans: (Omit<CollectedSpan, 'attributes' | 'status'> & {
        attributes: JsonAttribute[];
        status: { code: number };
      })[];
    }[];
  }[];
}

const read = (attributes: JsonAttribute[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
  );

function fromJson(body: Buffer): Found {
  const [first] = (JSON.parse(body.toString()) as JsonRequest).resourceSpans;
  const spans = first!.scopeSpans.flatMap((scope) => scope.spans);
  return {
    resource: read(first!.resource.attributes),
    spans: spans.map(({ attributes, status, parentSpanId = '', ...span }) => ({
      ...span,
      parentSpanId,
      attributes: read(attributes),
      status: status.code,
    })),
  };
}

type Fields = Map<number, (Buffer | number)[]>;

/** The fields of a message in the encoding of Protocol Buffers. */
function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(value);
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const [field, type] = [tag >> 3, tag & 7];
    const length = type === 2 ? varint() : type === 1 ? 8 : type === 5 ? 4 : 0;
    const value = type === 0 ? varint() : bytes.subarray(at, at + length);
    at += length;
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

// the numbers of opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto
const bytesIn = (fields: Fields, field: number) => (fields.get(field) ?? []) as Buffer[];
const messages = (fields: Fields, field: number) => bytesIn(fields, field).map(fieldsOf);
const textIn = (fields: Fields, field: number) => bytesIn(fields, field)[0]?.toString() ?? '';
const numberIn = (fields: Fields, field: number) => (fields.get(field)?.[0] ?? 0) as number;
const attributesIn = (fields: Fields, field: number) =>
  Object.fromEntries(
    messages(fields, field).map((pair) => {
      const value = messages(pair, 2)[0]!;
      return [textIn(pair, 1), value.has(1) ? textIn(value, 1) : numberIn(value, 3)];
    }),
  );

function fromProtobuf(body: Buffer): Found {
  const first = messages(fieldsOf(body), 1)[0]!;
  const hex = (span: Fields, field: number) => bytesIn(span, field)[0]?.toString('hex') ?? '';
  return {
    resource: attributesIn(messages(first, 1)[0]!, 1),
    spans: messages(first, 2)
      .flatMap((scope) => messages(scope, 2))
      .map((span) => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        name: textIn(span, 5),
        kind: numberIn(span, 6),
        attributes: attributesIn(span, 9),
        status: messages(span, 15).map((status) => numberIn(status, 3))[0] ?? 0,
      })),
  };
}
