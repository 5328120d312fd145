// Serves GET /admin/callback, the redirect URI of the console, which redeems the code at the token endpoint like any client.
import type { FastifyInstance } from 'fastify';
import { type Console, consoleCallback } from '../admin-session.ts';
import type { Config } from '../../../config.ts';

interface ConsoleDependencies {
  config: Config;
  console: Console;
}

export async function consoleEndpoint(app: FastifyInstance, { config, console }: ConsoleDependencies): Promise<void> {
  app.get(consoleCallback, (request, reply) =>
    console.completeSignIn(request, reply, async (form) => {
      const answer = await app.inject({
        method: 'POST',
        url: `${config.basePath}/token`,
        remoteAddress: request.ip,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams(form).toString(),
      });
      if (answer.statusCode !== 200) {
        request.log.warn({ status: answer.statusCode, answer: answer.body }, "the console's code was refused");
        return undefined;
      }
      return answer.json<{ access_token: string }>().access_token;
    }),
  );
}
