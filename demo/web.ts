// Does what the sample applications need: listens on this computer, answers with strict headers, and keeps sessions in memory.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { problemPage } from './views.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse, address: URL) => void | Promise<void>;

export interface WebApplication {
  name: string;
  /** 0 for any free one. */
  port: number;
  /** Origins to which forms may lead besides this application: by a redirect, the service. */
  issuer: string;
  /** By method and path, as in "GET /callback". */
  routes: Record<string, Handler>;
  /** The routes to which other sites may post a form. */
  fromOtherSites?: readonly string[];
  /** The error, as one sentence for the user. */
  explain(error: unknown): string;
}

const maxSessions = 1000;
/** Bytes. */
const maxForm = 128 * 1024;

const file = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
/** By method and path: what every page needs. */
export const assets: Record<string, { type: string; body: string }> = {
  'GET /style.css': { type: 'text/css; charset=utf-8', body: file('style.css') },
  'GET /logo.svg': { type: 'image/svg+xml', body: file('logo.svg') },
};

/** @throws the system's error when the port is taken */
export async function listen(application: WebApplication): Promise<{ url: string; stop(): Promise<void> }> {
  const { name, issuer, routes, fromOtherSites = [], explain } = application;
  const policy = `default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' ${new URL(issuer).origin}; base-uri 'none'; frame-ancestors 'none'`;
  let url = '';
  const server = createServer((request, response) => {
    response.setHeader('content-security-policy', policy);
    response.setHeader('x-content-type-options', 'nosniff');
    response.setHeader('referrer-policy', 'same-origin');
    response.setHeader('cache-control', 'no-store');
    answer(request, response).catch((error: unknown) => {
      process.stderr.write(`${name}: ${explain(error)}\n`);
      send(response, 500, problemPage(name, `That did not work: ${explain(error)}`));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(application.port, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async stop() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = new URL(request.url ?? '/', url);
    const target = `${request.method} ${address.pathname}`;
    const asset = assets[target];
    const handler = routes[target];
    if (asset) {
      response.writeHead(200, { 'content-type': asset.type, 'cross-origin-resource-policy': 'cross-origin' });
      response.end(asset.body);
    } else if (!handler) {
      send(response, 404, problemPage(name, 'There is nothing at this address.'));
    } else if (request.method === 'POST' && !fromOtherSites.includes(target) && !isOwnForm(request)) {
      send(response, 403, problemPage(name, 'That form did not come from this application.'));
    } else {
      await handler(request, response, address);
    }
  }
}

/** The browsers' sessions, each found by a cookie; the oldest are deleted when there are too many. */
export function createSessions<Session>(cookieName: string, create: () => Session) {
  const sessions = new Map<string, Session>();
  const cookie = new RegExp(`(?:^|; )${cookieName}=([A-Za-z0-9_-]{43})(?:;|$)`);
  const idOf = (request: IncomingMessage): string => cookie.exec(request.headers.cookie ?? '')?.[1] ?? '';
  return {
    find: (request: IncomingMessage): Session | undefined => sessions.get(idOf(request)),
    begin(response: ServerResponse): Session {
      keepAtMost(sessions, maxSessions - 1);
      const id = randomBytes(32).toString('base64url');
      const session = create();
      sessions.set(id, session);
      // an application on https adds Secure
      response.setHeader('set-cookie', `${cookieName}=${id}; Path=/; HttpOnly; SameSite=Lax`);
      return session;
    },
    forget: (request: IncomingMessage): void => void sessions.delete(idOf(request)),
  };
}

/** Deletes the oldest sessions beyond the limit. */
export function keepAtMost(map: Map<string, unknown>, count: number): void {
  for (const key of map.keys()) {
    if (map.size <= count) return;
    map.delete(key);
  }
}

/** Whether a form comes from this application and not from another site; the cookie's SameSite protects older browsers as well. */
function isOwnForm(request: IncomingMessage): boolean {
  const site = request.headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin';
}

/** The fields of a posted form. @throws Error if it is too large */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxForm) throw new Error('the form is too large');
    parts.push(part);
  }
  return new URLSearchParams(Buffer.concat(parts).toString());
}

export function send(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
  response.end(html);
}

export function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location });
  response.end();
}
