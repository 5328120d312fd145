// Keeps the tokens that a provider issued, encrypted, and renews an access token that expires (federation 4, FR17).
import { randomUUID } from 'node:crypto';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { Connection } from '../../entities/connections.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { UpstreamSession } from '../../repositories/sessions/sessions.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { ConnectionFailure, type GivenTokens, type VerifiedIdentity } from './kind.ts';
import type { ConnectionKinds } from './kinds.ts';

/** The sealed content of a row. */
interface Kept extends GivenTokens {
  /** The provider's session in which the tokens were issued. */
  sid?: string | undefined;
}

/** An access token of the provider that is still valid. */
export interface UpstreamAccess {
  accessToken: string;
  scope: string | undefined;
  /** In seconds since 1970; undefined if the provider did not say. */
  expiresAt: number | undefined;
}

/** The least remaining lifetime of a token, in seconds: a client must be able to use the token that it reads. */
const least = 30;
/** Concurrent refreshes of this instance. Each holds a connection to the database until the provider answers. */
const mostRefreshes = 4;

export type UpstreamTokens = ReturnType<typeof createUpstreamTokens>;

export function createUpstreamTokens({
  store,
  secretBox,
  kinds,
  now,
}: {
  store: Store;
  secretBox: SecretBox;
  kinds: ConnectionKinds;
  now: () => Date;
}) {
  /** The refreshes that run now. Further callers get the same answer. */
  const refreshes = new Map<string, Promise<UpstreamAccess | undefined>>();
  const dataOf = (id: string) => associatedDataOf('upstream_tokens.sealed_encrypted', id);

  async function write({ upstreamTokens }: Repositories, connectionId: string, sub: string, kept: Kept): Promise<void> {
    const id = randomUUID();
    await upstreamTokens.store(connectionId, sub, { id, sealed: secretBox.seal(JSON.stringify(kept), dataOf(id)) });
  }

  const open = ({ id, sealed }: { id: string; sealed: Buffer }): Kept =>
    JSON.parse(secretBox.open(sealed, dataOf(id)).toString()) as Kept;

  function usable({ accessToken, scope, expiresAt }: Kept): UpstreamAccess | undefined {
    if (accessToken === undefined) return undefined;
    const isOver = expiresAt !== undefined && expiresAt - now().getTime() / 1000 < least;
    return isOver ? undefined : { accessToken, scope, expiresAt };
  }

  /** Whether clients may get tokens of the connection now. Tokens that it kept before do not matter. */
  const isGiving = ({ status, storeTokens }: Connection) => storeTokens && status !== 'disabled';

  async function refreshed(connectionId: string, sub: string): Promise<UpstreamAccess | undefined> {
    return store.transaction(async (repositories) => {
      const row = await repositories.upstreamTokens.lock(connectionId, sub);
      const kept = row && open(row);
      // another instance may have refreshed the token while this one waited for the row
      const found = kept && usable(kept);
      if (!kept || found) return found;
      const connection = await repositories.connections.find(connectionId);
      const kind = connection && kinds.get(connection.kind);
      if (!kept.refreshToken || !connection || !isGiving(connection) || !kind?.refresh) return undefined;
      const given = await kind.refresh(connection, kept.refreshToken).catch((error: unknown) => {
        if (!(error instanceof ConnectionFailure) || error.reason === 'unreachable') throw error;
        return undefined;
      });
      const { sid, idToken, refreshToken, scope } = kept;
      const { accessToken, expiresAt } = given ?? {};
      // without a scope or a refresh token in the answer, both stay (RFC 6749 5.1, 6); without an expiry, the expiry is unknown
      const renewed = { accessToken, expiresAt, refreshToken: given?.refreshToken ?? refreshToken };
      // the service does not send a refused refresh token again: the user must sign in at the provider
      const next: Kept = given ? { sid, idToken, ...renewed, scope: given.scope ?? scope } : { sid, idToken };
      await write(repositories, connectionId, sub, next);
      return usable(next);
    });
  }

  return {
    /** Keeps the tokens that the settings of the connection ask for. */
    async keep(connection: Connection, sub: string, { sid, tokens }: VerifiedIdentity): Promise<void> {
      const { logout, storeTokens, id } = connection;
      const idToken = logout === 'propagate' ? tokens?.idToken : undefined;
      if (tokens === undefined || (idToken === undefined && !storeTokens)) return;
      const { accessToken, refreshToken, scope, expiresAt } = tokens;
      await write(store, id, sub, {
        sid,
        idToken,
        ...(storeTokens && { accessToken, refreshToken, scope, expiresAt }),
      });
    },
    /** The ID Token of a session; undefined if the user has signed in at the provider again since. */
    async idTokenOf(sub: string, { connectionId, sid }: UpstreamSession): Promise<string | undefined> {
      const row = await store.upstreamTokens.find(connectionId, sub);
      const kept = row && open(row);
      return kept && kept.sid === sid ? kept.idToken : undefined;
    },
    /**
     * An access token of the provider; undefined if there is none, or if it expired and cannot be refreshed.
     * @throws ConnectionFailure with `unreachable`
     */
    async accessOf(connectionId: string, sub: string): Promise<UpstreamAccess | undefined> {
      const [row, connection] = await Promise.all([
        store.upstreamTokens.find(connectionId, sub),
        store.connections.find(connectionId),
      ]);
      const kept = connection && isGiving(connection) && row ? open(row) : undefined;
      if (!kept) return undefined;
      const found = usable(kept);
      if (found || kept.refreshToken === undefined) return found;
      const key = JSON.stringify([connectionId, sub]);
      const running = refreshes.get(key);
      if (running) return running;
      if (refreshes.size >= mostRefreshes) throw new ConnectionFailure('unreachable', 'too many refreshes at a time');
      const refresh = refreshed(connectionId, sub).finally(() => refreshes.delete(key));
      refreshes.set(key, refresh);
      return refresh;
    },
  };
}
