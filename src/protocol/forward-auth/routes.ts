// Serves /forward-auth/{nginx,traefik,caddy,envoy}, where a proxy asks about each request to a protected site (federation 13).
import type { FastifyInstance } from 'fastify';
import { proxyKinds } from '../../rules/sites/original-request.ts';
import { jsonErrors } from '../../server/errors.ts';
import { answer } from './answers.ts';
import { createVerdict, type VerdictDependencies } from './verdict.ts';

const envoyPath = '/forward-auth/envoy';

export async function forwardAuthEndpoint(
  app: FastifyInstance,
  options: VerdictDependencies & { config: { basePath: string } },
): Promise<void> {
  const decide = createVerdict(options);
  // a proxy shows no page
  app.setErrorHandler(jsonErrors);
  const before = options.config.basePath.length + envoyPath.length;

  for (const kind of proxyKinds)
    if (kind !== 'envoy')
      app.get(`/forward-auth/${kind}`, async (request, reply) => answer(reply, kind, await decide(request, kind)));

  await app.register(async (envoy) => {
    // the body belongs to the application, and is not read here
    envoy.removeAllContentTypeParsers();
    envoy.addContentTypeParser('*', (_request, _body, done) => done(null));
    for (const path of [`${envoyPath}/`, `${envoyPath}/*`])
      envoy.all(path, async (request, reply) =>
        answer(reply, 'envoy', await decide(request, 'envoy', request.url.slice(before))),
      );
  });
}
