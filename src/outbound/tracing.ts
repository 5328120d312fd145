// Records traces of requests and sends them to a collector by OTLP/HTTP. The packages of OpenTelemetry are loaded here, and only when traces are switched on.
import { setTimeout as delay } from 'node:timers/promises';
import type { Context, Span as ApiSpan, Tracer } from '@opentelemetry/api';
import type { ReadableSpan, Sampler } from '@opentelemetry/sdk-trace';
import { createGuardedSend, FetchRefused, type GuardedSend } from './guarded-fetch.ts';
import { type Attributes, kindOf, type Span, type SpanKind } from './span.ts';
import { createSpanQueue, type SpanCounts } from './span-queue.ts';

/** The settings of traces, by the names of OpenTelemetry (OTEL_…). */
export interface TraceSettings {
  endpoint: string;
  headers?: Readonly<Record<string, string>> | undefined;
  protocol: 'http/protobuf' | 'http/json';
  /** Milliseconds for the attempts to send some spans. */
  timeout: number;
  ca?: string | undefined;
  serviceName: string;
  sampler:
    | 'always_on'
    | 'always_off'
    | 'traceidratio'
    | 'parentbased_always_on'
    | 'parentbased_always_off'
    | 'parentbased_traceidratio';
  /** The part of the traces that are recorded, with a sampler by ratio. */
  ratio: number;
}

/** A request that came in. */
export interface TracedRequest {
  method: string;
  /** The pattern of the route; undefined without one. */
  route: string | undefined;
  /** Of a caller that is trusted (W3C Trace Context 3.2). */
  traceparent: string | undefined;
}

export interface Tracing {
  /** Begins the span of a request; undefined if its trace is not recorded. */
  begin(request: TracedRequest): Span | undefined;
  counts(): SpanCounts;
  stop(): Promise<void>;
}

/** Milliseconds between two attempts to send the same spans: the first pause, which doubles. */
const firstPause = 1_000;
/** Answers after which the same request may succeed (OTLP 1.0, OTLP/HTTP response). */
const retryable = new Set([429, 502, 503, 504]);
/** Milliseconds in which a stop sends what is left. */
const stopTimeout = 2_000;

const load = async () => {
  const [api, sdk, transformer, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/otlp-transformer'),
    import('@opentelemetry/resources'),
  ]);
  return { api, sdk, transformer, resources };
};
type Packages = Awaited<ReturnType<typeof load>>;

export async function openTracing(
  settings: TraceSettings,
  { version, onChange }: { version: string; onChange(error: Error | undefined): void },
): Promise<Tracing> {
  const packages = await load();
  const { api, sdk, resources } = packages;
  const stopping = new AbortController();
  const queue = createSpanQueue({ send: createSender(settings, packages, stopping.signal), onChange });
  const provider = new sdk.TracerProvider({
    sampler: samplerOf(settings, packages),
    resource: resources.resourceFromAttributes({ 'service.name': settings.serviceName, 'service.version': version }),
    spanProcessors: [queue],
  });
  const tracer = provider.getTracer('gatehouse', version);
  return {
    begin({ method, route, traceparent }) {
      const name = route === undefined ? method : `${method} ${route}`;
      const attributes = { 'http.request.method': method, ...(route !== undefined && { 'http.route': route }) };
      const parent = parentOf(traceparent, api);
      const span = tracer.startSpan(name, { kind: api.SpanKind.SERVER, attributes }, parent);
      return span.isRecording() ? new RecordedSpan(span, { tracer, api }) : undefined;
    },
    counts: queue.counts,
    async stop() {
      await Promise.race([provider.shutdown(), delay(stopTimeout, undefined, { ref: false })]);
      stopping.abort();
    },
  };
}

type Api = Packages['api'];

class RecordedSpan implements Span {
  readonly #span: ApiSpan;
  readonly #root: RecordedSpan;
  readonly #parts: { tracer: Tracer; api: Api };
  #isEnded = false;

  constructor(span: ApiSpan, parts: { tracer: Tracer; api: Api }, root?: RecordedSpan) {
    this.#span = span;
    this.#parts = parts;
    this.#root = root ?? this;
  }

  get isOpen(): boolean {
    return !this.#root.#isEnded;
  }

  get traceparent(): string {
    const { traceId, spanId } = this.#span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  }

  begin(name: string, kind: SpanKind, attributes: Attributes = {}): Span {
    const { tracer, api } = this.#parts;
    const context = api.trace.setSpan(api.ROOT_CONTEXT, this.#span);
    const kinds = { internal: api.SpanKind.INTERNAL, client: api.SpanKind.CLIENT };
    return new RecordedSpan(
      tracer.startSpan(name, { kind: kinds[kind], attributes }, context),
      this.#parts,
      this.#root,
    );
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  end(failure?: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (failure !== undefined) {
      this.#span.setAttribute('error.type', failure);
      this.#span.setStatus({ code: this.#parts.api.SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

const traceparents = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;

/** The context of the caller's span; an empty one without a valid header (W3C Trace Context 3.2.2). */
function parentOf(traceparent: string | undefined, { trace, ROOT_CONTEXT, isSpanContextValid }: Api): Context {
  const [, traceId, spanId, flags] = traceparents.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || traceparent!.startsWith('ff')) return ROOT_CONTEXT;
  if (traceparent!.startsWith('00') && traceparent!.length !== 55) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags!, 16) & 1;
  const context = { traceId, spanId: spanId!, traceFlags, isRemote: true };
  return isSpanContextValid(context) ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT;
}

function samplerOf({ sampler, ratio }: TraceSettings, { sdk }: Packages): Sampler {
  const [, isParentBased, name] = /^(parentbased_)?(.*)$/.exec(sampler)!;
  const root =
    name === 'always_off'
      ? new sdk.AlwaysOffSampler()
      : name === 'traceidratio'
        ? new sdk.TraceIdRatioBasedSampler(ratio)
        : new sdk.AlwaysOnSampler();
  return isParentBased === undefined ? root : new sdk.ParentBasedSampler({ root });
}

/** Sends spans, several times if the collector is away. No more of an answer than its beginning is read, however long or slow it is. */
function createSender(settings: TraceSettings, { transformer }: Packages, signal: AbortSignal) {
  const url = new URL(settings.endpoint);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  // the operator names the collector, which is usually inside of the network (security R47)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const send: GuardedSend = createGuardedSend([`${url.hostname}:${port}`]);
  const isJson = settings.protocol === 'http/json';
  const serializer = isJson ? transformer.JsonTraceSerializer : transformer.ProtobufTraceSerializer;
  const headers = { ...settings.headers, 'content-type': isJson ? 'application/json' : 'application/x-protobuf' };

  /** @returns undefined if the collector has taken the spans, else what it did, and whether another attempt may help */
  async function attempt(body: Uint8Array, timeout: number): Promise<{ error: Error; again: boolean } | undefined> {
    try {
      const { ca } = settings;
      const { status } = await send(url.href, { body, headers, timeout, signal, ...(ca !== undefined && { ca }) });
      if (status >= 200 && status < 300) return undefined;
      return { error: new Error(`the collector answered ${status}`), again: retryable.has(status) };
    } catch (error) {
      const cause = error instanceof FetchRefused ? error.cause : error;
      return { error: new Error(`the collector cannot be reached (${kindOf(cause)})`), again: true };
    }
  }

  return async (spans: ReadableSpan[]): Promise<void> => {
    const body = serializer.serializeRequest(spans);
    if (!body) throw new Error('the spans could not be written');
    const end = performance.now() + settings.timeout;
    for (let pause = firstPause; ; pause *= 2) {
      const failed = await attempt(body, Math.max(1, Math.ceil(end - performance.now())));
      if (!failed) return;
      if (!failed.again || performance.now() + pause >= end || signal.aborted) throw failed.error;
      await delay(pause, undefined, { ref: false });
    }
  };
}
