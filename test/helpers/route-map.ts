// Reads the routes of a service from its router.
import type { FastifyInstance } from 'fastify';

/** The routes as "METHOD path", sorted; assets without their digests. */
export function routesOf(app: Pick<FastifyInstance, 'printRoutes'>): string[] {
  const paths: string[] = [];
  const lines = app.printRoutes({ commonPrefix: false }).split('\n');
  const stack: string[] = [];
  for (const line of lines) {
    const match = /^([│ ]*)(?:├── |└── )(.*?)(?: \(([A-Z, ]+)\))?$/.exec(line);
    if (!match) continue;
    const depth = match[1]!.length / 4;
    stack.length = depth;
    stack.push(match[2]!);
    for (const method of match[3]?.split(', ') ?? []) paths.push(`${method} ${stack.join('')}`);
  }
  return paths.map((path) => path.replace(/\.[0-9a-f]{16}\./, '.*.')).sort();
}
