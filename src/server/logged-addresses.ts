// Takes the queries out of addresses in what is logged: messages of the framework quote whole addresses (security R99).
import { stdSerializers } from 'pino';

/** The text without the query of any address that it quotes. */
export function withoutQueries(text: string): string {
  return text.replaceAll(/(?<=[\w/%.~:[\]+-])\?[^\s"'`<>]+/g, '?…');
}

/** Writes an error as pino does, with the same members, but without queries. Anything else that is logged as a cause is kept. */
export function loggedError(error: unknown): unknown {
  if (typeof error === 'string') return withoutQueries(error);
  if (!(error instanceof Error)) return error;
  const members = Object.entries(stdSerializers.err(error));
  return Object.fromEntries(
    members.map(([name, value]) => [name, typeof value === 'string' ? withoutQueries(value) : value]),
  );
}
