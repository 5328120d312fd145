// Sends events of the audit trail to a collector: as JSON Lines or OTLP logs over HTTPS, or as syslog over TLS (RFC 5424, RFC 5425).
import { hostname } from 'node:os';
import { FetchRefused, type GuardedSend } from './guarded-fetch.ts';
import { createSyslogSender } from './syslog.ts';

/** An event, and its line of JSON. */
export interface AuditLine {
  id: string;
  at: Date;
  type: string;
  outcome: 'success' | 'failure';
  text: string;
}

export interface AuditSink {
  /** Resolves when the collector has the events. @throws Error with a reason without the address and the token */
  send(lines: readonly AuditLine[]): Promise<void>;
  /** Ends what is under way. */
  stop(): void;
}

export interface CollectorSettings {
  /** syslog+tls://HOST:PORT, https://… for JSON Lines, or otlp+https://… */
  url: string;
  token: string | undefined;
  /** Of the authority that signed the certificate of the collector, if that is no public one. */
  ca: string | undefined;
  /** The host:port that may be inside of the service's own network. */
  allowed: readonly string[];
}

/** The milliseconds that a collector has to take some events. */
export const sinkLimits = { timeout: 15_000 };
const late = 'the collector did not take the events in time';
/** The severities of RFC 5424 6.2.1 and of the logs of OpenTelemetry. */
const severities = {
  success: { syslog: 6, number: 9, text: 'INFO' },
  failure: { syslog: 4, number: 13, text: 'WARN' },
} as const;
/** Security and authorization messages, of which only administrators read. */
const facility = 10;

export function createAuditSink(settings: CollectorSettings, send: GuardedSend): AuditSink {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const { url } = settings;
  if (url.startsWith('syslog+tls:')) {
    const write = createSyslogSender({ ...settings, signal: stopping.signal });
    return { send: (lines) => write(lines.map(syslogMessage), sinkLimits.timeout), stop };
  }
  const isOtlp = url.startsWith('otlp+');
  const post = async (type: string, body: string): Promise<void> => {
    const headers = {
      'content-type': type,
      ...(settings.token !== undefined && { authorization: `Bearer ${settings.token}` }),
    };
    const address = isOtlp ? otlpAddress(url) : url;
    const message = {
      body,
      headers,
      timeout: sinkLimits.timeout,
      signal: stopping.signal,
      ...(settings.ca !== undefined && { ca: settings.ca }),
    };
    const { status } = await send(address, message).catch((error: unknown) => {
      throw new Error(reasonOf(error));
    });
    if (status < 200 || status > 299) throw new Error(`the collector answered ${status}`);
  };
  return {
    send: (lines) =>
      isOtlp
        ? post('application/json', JSON.stringify(otlpLogs(lines)))
        : post('application/x-ndjson', lines.map(({ text }) => `${text}\n`).join('')),
    stop,
  };
}

/** An address without a path takes logs at the path of the protocol (OTLP 1.0, OTLP/HTTP request). */
function otlpAddress(url: string): string {
  const address = new URL(url.slice('otlp+'.length));
  if (address.pathname === '/') address.pathname = '/v1/logs';
  return address.href;
}

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });

/** @returns the request of OTLP/HTTP in JSON */
function otlpLogs(lines: readonly AuditLine[]) {
  const logRecords = lines.map(({ id, at, type, outcome, text }) => ({
    timeUnixNano: `${at.getTime()}000000`,
    observedTimeUnixNano: `${at.getTime()}000000`,
    severityNumber: severities[outcome].number,
    severityText: severities[outcome].text,
    eventName: type,
    body: { stringValue: text },
    attributes: [attribute('event.id', id), attribute('event.type', type), attribute('event.outcome', outcome)],
  }));
  const resource = { attributes: [attribute('service.name', 'gatehouse'), attribute('host.name', hostname())] };
  return { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'gatehouse.audit' }, logRecords }] }] };
}

/** A message of RFC 5424: its MSGID is the type of the event, its MSG the line of JSON. */
function syslogMessage({ at, type, outcome, text }: AuditLine): string {
  const priority = facility * 8 + severities[outcome].syslog;
  const host =
    hostname()
      .replace(/[^!-~]/g, '')
      .slice(0, 255) || '-';
  return `<${priority}>1 ${at.toISOString()} ${host} gatehouse ${process.pid} ${type.slice(0, 32)} - ${text}`;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof FetchRefused)) return error instanceof Error ? error.message : String(error);
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  if (cause?.code === 'ABORT_ERR') return late;
  return `the collector cannot be reached (${cause?.code ?? cause?.message ?? 'refused'})`;
}
