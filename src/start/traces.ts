// Switches traces on, if OTEL_EXPORTER_OTLP_ENDPOINT names a collector; without it no package of OpenTelemetry is loaded.
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { installedVersion } from '../config/version.ts';
import { openTracing, type Tracing } from '../outbound/tracing.ts';

export async function openTraces({ traces }: Pick<Config, 'traces'>, logger: Logger): Promise<Tracing | undefined> {
  const { endpoint } = traces;
  if (endpoint === undefined) return undefined;
  const onChange = (error: Error | undefined): void => {
    if (error) logger.warn({ err: error }, 'traces cannot be sent to the collector; spans are dropped');
    else logger.info('the collector takes traces again');
  };
  return openTracing({ ...traces, endpoint }, { version: installedVersion(), onChange });
}
