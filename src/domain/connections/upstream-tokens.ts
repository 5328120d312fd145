// Keeps the tokens that a connection gave, encrypted, and renews an access token that expires (federation 4, FR17).
import { randomUUID } from 'node:crypto';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { Connection } from '../../repositories/connections/connections.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { UpstreamSession } from '../../repositories/sessions/sessions.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { ConnectionFailure, type GivenTokens, type VerifiedIdentity } from './kind.ts';
import type { ConnectionKinds } from './kinds.ts';

/** The sealed content of a row. */
interface Kept extends GivenTokens {
  /** The session there in which they were given. */
  sid?: string | undefined;
}

/** An access token of the other side that is good for a while. */
export interface UpstreamAccess {
  accessToken: string;
  scope: string | undefined;
  /** In seconds since 1970; undefined if the other side did not say. */
  expiresAt: number | undefined;
}

/** In seconds: a client must be able to use what it reads. */
const least = 30;
/** Refreshes at a time of this instance, each of which holds a connection to the database for as long as the other side takes. */
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
  /** What is being refreshed now: further callers get the same answer. */
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

  /** Whether clients get tokens of the connection now, whatever it kept before. */
  const isGiving = ({ status, storeTokens }: Connection) => storeTokens && status !== 'disabled';

  async function refreshed(connectionId: string, sub: string): Promise<UpstreamAccess | undefined> {
    return store.transaction(async (repositories) => {
      const row = await repositories.upstreamTokens.lock(connectionId, sub);
      const kept = row && open(row);
      // another instance may have refreshed it while this one waited for the row
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
      // an answer without a scope or another refresh token keeps both (RFC 6749 5.1, 6); without an expiry nothing is known of it
      const renewed = { accessToken, expiresAt, refreshToken: given?.refreshToken ?? refreshToken };
      // a dead refresh token is not asked for again: the user has to sign in there
      const next: Kept = given ? { sid, idToken, ...renewed, scope: given.scope ?? scope } : { sid, idToken };
      await write(repositories, connectionId, sub, next);
      return usable(next);
    });
  }

  return {
    /** Keeps what the settings of the connection ask for. */
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
    /** The ID Token of a session: none if the user has signed in there again since. */
    async idTokenOf(sub: string, { connectionId, sid }: UpstreamSession): Promise<string | undefined> {
      const row = await store.upstreamTokens.find(connectionId, sub);
      const kept = row && open(row);
      return kept && kept.sid === sid ? kept.idToken : undefined;
    },
    /**
     * An access token of the other side; undefined if there is none, or if it expired and cannot be refreshed.
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
