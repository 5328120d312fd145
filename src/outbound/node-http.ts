// Gives Node's HTTP client and the agent that refuses addresses. An import of node:http reads each of its names, and one of them loads all of
// fetch(): that would take 20 ms and 9 MB at each start.
import { createRequire } from 'node:module';
import type Http from 'node:http';
import type { Agent } from 'node:https';
import type * as FilteringAgent from 'request-filtering-agent';

const require = createRequire(import.meta.url);

export const http = require('node:http') as typeof Http;

/** Its package imports node:http, so only the first request to another service loads it. */
export function newFilteringAgent(): Agent {
  const { RequestFilteringHttpsAgent } = require('request-filtering-agent') as typeof FilteringAgent;
  return new RequestFilteringHttpsAgent({ keepAlive: false });
}
