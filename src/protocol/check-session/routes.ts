// Serves GET /check-session, the page in which a relying party notices a changed sign-in (OpenID Connect Session Management 1.0 section 3).
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { internalCookie } from '../../browser/cookies.ts';
import { browserState } from '../../browser/op-browser-state.ts';
import type { Config } from '../../config.ts';
import { builtInTemplates } from '../../pages/renderer.ts';

const maxAge = 3600; // seconds: the page is the same for every user

export async function checkSessionEndpoint(
  app: FastifyInstance,
  { config }: { config: Pick<Config, 'issuer'> },
): Promise<void> {
  // not from TEMPLATES_DIR: the page is invisible and only implements the protocol
  const script = readFileSync(join(builtInTemplates, 'check-session.js'), 'utf8')
    .trim()
    .replace(`GATEHOUSE_${browserState}`, internalCookie(browserState, config.issuer));
  const hash = createHash('sha256').update(script).digest('base64');
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Session</title><script>${script}</script></head></html>\n`;
  // the only page that a page of any site may frame (security R57)
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors *`;

  app.get('/check-session', (_request, reply) =>
    reply
      .removeHeader('x-frame-options')
      .header('content-security-policy', policy)
      .header('cache-control', `public, max-age=${maxAge}`)
      .type('text/html; charset=utf-8')
      .send(page),
  );
}
