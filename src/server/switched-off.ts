// Lets the addresses of a feature that a setting switches off answer every method as if there were no such address.
import type { FastifyInstance, RouteOptions } from 'fastify';
import { notFound } from '../oauth/errors.ts';

/** The routes of such features: their addresses have no methods that a 405 could name. */
const switchedOff = new WeakSet<RouteOptions>();
export const isSwitchedOff = (route: RouteOptions): boolean => switchedOff.has(route);

/**
 * Call it before the first route of the plugin.
 * @param description what a program learns instead
 */
export function onlyWhere(app: FastifyInstance, isOn: boolean, description: string): void {
  if (isOn) return;
  // after the hooks that the route already has: scripts of other origins may read the refusal where they may call the address
  app.addHook('onRoute', (route) => {
    switchedOff.add(route);
    route.onRequest = [...[route.onRequest ?? []].flat(), refuse];
  });
  async function refuse(): Promise<void> {
    throw notFound(description);
  }
}
