// Names what weakens a service: settings for a trial, clients of development, and secrets that are easy to guess (delivery 3).

/** A client that an administrator made weaker than others. */
export interface WeakenedClient {
  clientId: string;
  name: string;
  /** Its redirect URIs may be http in private networks. */
  development: boolean;
  /** Its secret is easier to guess than those of the service, and has not been renewed since. */
  weakSecret: boolean;
}

export type Weakness =
  { kind: 'allow_http'; issuer: string } | { kind: 'development' | 'weak_secret'; clientId: string; name: string };

/** The most clients that are named. */
export const mostWeakened = 100;

/**
 * Everything that weakens the service while it is on.
 * @param settings as the service has them
 * @param clients as the database lists them
 */
export function weakened(
  { allowHttp, issuer }: { allowHttp: boolean; issuer: string },
  clients: readonly WeakenedClient[],
): Weakness[] {
  const named = (kind: 'development' | 'weak_secret', of: (client: WeakenedClient) => boolean): Weakness[] =>
    clients.filter(of).map(({ clientId, name }) => ({ kind, clientId, name }));
  return [
    ...(allowHttp ? [{ kind: 'allow_http' as const, issuer }] : []),
    ...named('development', ({ development }) => development),
    ...named('weak_secret', ({ weakSecret }) => weakSecret),
  ];
}
