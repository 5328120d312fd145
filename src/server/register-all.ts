// Registers a list of Fastify plugins with one object that has the dependencies of all of them.
import type { FastifyInstance } from 'fastify';

type Plugin<Dependencies> = (app: FastifyInstance, dependencies: Dependencies) => Promise<void>;
type Distributed<P> = P extends Plugin<infer Dependencies> ? (dependencies: Dependencies) => void : never;

/** The dependencies of all plugins of a list. */
export type DependenciesOf<Plugins extends readonly Plugin<never>[]> =
  Distributed<Plugins[number]> extends (dependencies: infer All) => void ? All : never;

export async function registerAll<Plugins extends readonly Plugin<never>[]>(
  app: FastifyInstance,
  plugins: Plugins,
  dependencies: DependenciesOf<Plugins> & object,
): Promise<void> {
  for (const plugin of plugins) await app.register(plugin as Plugin<object>, dependencies);
}
