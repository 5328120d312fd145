// Declares the types of the settings of traces, which have the names and values that OpenTelemetry gives them.
import { z } from 'zod';
import { choice } from './setting-types.ts';

/** The address to which the path of a signal is added (OTLP 1.0, OTLP/HTTP). A collector is usually beside the service, so http is allowed. */
export const traceEndpoint = z.string().refine((address) => {
  if (!URL.canParse(address) || /[^!-~]/.test(address)) return false;
  const { protocol, username, password, search, hash } = new URL(address);
  return /^https?:$/.test(protocol) && username === '' && password === '' && search === '' && hash === '';
}, 'must be an http or https URL without user name, password and query, such as http://localhost:4318');

const header = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128})\s*=\s*([!-+\--~][ !-+\--~]*|)$/;
/** What the service itself sets. */
const ownHeaders = ['content-type', 'content-length', 'host', 'user-agent', 'connection', 'transfer-encoding'];

/** Headers as "name=value,name=value", each value percent-encoded (OTLP exporter, W3C Baggage). */
export const traceHeaders = z
  .string()
  .max(8192, 'must have at most 8192 characters')
  .transform((list, context) => {
    const headers: Record<string, string> = {};
    for (const item of list.split(',')) {
      const [, name, value] = header.exec(item) ?? [];
      const read = name === undefined || ownHeaders.includes(name.toLowerCase()) ? undefined : decoded(value!.trim());
      if (read === undefined) {
        context.addIssue({ code: 'custom', message: 'must be a list of headers such as name=value,name=value' });
        return z.NEVER;
      }
      headers[name!.toLowerCase()] = read;
    }
    return headers;
  });

/** Undefined for a value that cannot be read, or that no header may have. */
function decoded(value: string): string | undefined {
  try {
    const text = decodeURIComponent(value);
    return /^[ -~]*$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

export const traceProtocol = choice('http/protobuf', 'http/json');

export const traceSampler = choice(
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
);

const ratioError = 'must be a number from 0 to 1';
export const ratio = z.coerce.number({ error: ratioError }).min(0, ratioError).max(1, ratioError);
