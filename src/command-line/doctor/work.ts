// Checks what the service depends on and does by itself: directories and providers, waiting work, backups; and names what weakens it.
import { createSecretBox } from '../../crypto/secret-box.ts';
import { parseSecretKey } from '../../crypto/secret-key.ts';
import { checkDirectory, checkProblems } from '../../domain/connections/ldap/check.ts';
import { createConnectionKinds } from '../../domain/connections/kinds.ts';
import { createDirectories } from '../../outbound/directories.ts';
import { createGuardedExchange, createGuardedFetch } from '../../outbound/guarded-fetch.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { Connection } from '../../entities/connections.ts';
import type { WaitingWork } from '../../repositories/doctor/doctor-view.ts';
import { mostWeakened, weakened as weaknesses, type Weakness } from '../../rules/clients/weakened.ts';
import { check, fault, type Finding, ok, type Place, warning } from './check.ts';

interface SeenProvider {
  id: string;
  kind: string;
  problem: string | undefined;
}

export const providers = check<SeenProvider[]>('providers', {
  async look(place) {
    const enabled = (await place.store.connections.list()).filter(({ status }) => status !== 'disabled');
    const ask = enabled.length > 0 ? asker(place) : undefined;
    return Promise.all(
      enabled.map(async (connection) => ({
        id: connection.id,
        kind: connection.kind,
        problem: await ask!(connection),
      })),
    );
  },
  judge(seen) {
    const failed = seen.filter(({ problem }) => problem !== undefined);
    if (seen.length > 0 && failed.length === 0) return [ok(`${seen.length} of ${seen.length} answer`)];
    return failed.map(({ id, kind, problem }) =>
      fault(
        `${id}: ${problem}`,
        kind === 'ldap'
          ? `Correct it, and try again: bin/gatehouse connection test ${id}`
          : `Make the provider reachable from here, or correct the settings: bin/gatehouse connection show ${id}`,
      ),
    );
  },
});

/** Asks the provider or the directory of a connection, and returns what is wrong. */
function asker({ store, secretKeys, config }: Place): (connection: Connection) => Promise<string | undefined> {
  const [first, ...others] = secretKeys.map(parseSecretKey);
  const secretBox = createSecretBox([first!, ...others]);
  const directories = createDirectories(config.connectionsAllow);
  const kinds = createConnectionKinds({
    store,
    secretBox,
    fetchDocument: createGuardedFetch(config.outboundAllow),
    allowed: config.outboundAllow,
    issuer: config.issuer,
    now: () => new Date(),
    exchange: createGuardedExchange(config.outboundAllow),
    directories,
    directoriesAllowed: config.connectionsAllow,
  });
  return async (connection) => {
    try {
      if (connection.kind !== 'ldap') await kinds.get(connection.kind)?.discover(connection);
      else {
        const { problem } = await checkDirectory(connection, { directories, secretBox });
        if (problem !== undefined) return checkProblems[problem];
      }
    } catch (error) {
      return error instanceof OAuthError ? error.description : 'its settings or its answer cannot be read';
    }
    return undefined;
  };
}

const since = (time: Date | null) => (time === null ? 'an unknown time' : time.toISOString().slice(0, 16) + 'Z');

export const jobs = check<WaitingWork>('jobs', {
  look: ({ store }) => store.doctorView.work(),
  judge({ outbox, imports, transactions }) {
    const found: Finding[] = [
      ...outbox.map(({ channel, rows, oldest, failure }) =>
        warning(
          `${rows} ${rows === 1 ? 'row' : 'rows'} of ${channel} ${rows === 1 ? 'waits' : 'wait'} since ${since(oldest)}${failure === null ? '' : ` (${failure.slice(0, 120)})`}`,
          failure === null
            ? 'Start the service, or look at its log: no instance takes this work.'
            : 'Mend the receiver that the reason names: the service tries again every quarter of an hour.',
        ),
      ),
      ...imports.map(({ connection, since: begun }) =>
        warning(
          `the import of ${connection} has hung since ${since(begun)}`,
          `Start it again: bin/gatehouse connection import ${connection}`,
        ),
      ),
      ...transactions.map(({ pid, program, since: begun }) =>
        warning(
          `a transaction of ${program || 'an unnamed program'} has been open since ${since(begun)}`,
          `End it: SELECT pg_terminate_backend(${pid}); meanwhile nothing is cleaned up, and no migration runs.`,
        ),
      ),
    ];
    return found.length > 0 ? found : [ok('nothing waits for long')];
  },
});

interface SeenBackups {
  /** The time of the newest backup that was noted. */
  noted: Date | undefined;
  archived: boolean;
  now: number;
  kind: Place['kind'];
}

const day = 86_400_000;

export const backups = check<SeenBackups>('backups', {
  async look({ store, kind }) {
    const [{ events }, archived] = await Promise.all([
      store.auditSearch.search({ type: 'backup.noted' }, { limit: 1, before: undefined }),
      store.databaseStatus.isArchived(),
    ]);
    const made = events[0]?.detail?.['made_at'];
    return { noted: typeof made === 'string' ? new Date(made) : undefined, archived, now: Date.now(), kind };
  },
  judge({ noted, archived, now, kind }) {
    if (archived) return [ok('the server archives its log of changes')];
    const todo =
      kind === 'embedded'
        ? 'Stop the service, copy DATA_DIR, start the service, and record the copy: bin/gatehouse backup note FOLDER'
        : 'Make one, and record it: bin/gatehouse backup note DUMP';
    if (!noted) return [warning('no backup is recorded', todo)];
    const days = Math.floor((now - noted.getTime()) / day);
    if (days > 7) return [warning(`the newest recorded backup is ${days} days old`, todo)];
    return [ok(`the newest one is from ${since(noted)}`)];
  },
});

const remedies: Record<Weakness['kind'], string> = {
  allow_http: 'Put a proxy with TLS in front, set BASE_URL to its https address, and remove ALLOW_HTTP.',
  development: 'Give each redirect URIs with https, then: bin/gatehouse client change CLIENT_ID --unset development',
  weak_secret: 'Renew each: bin/gatehouse client new-secret CLIENT_ID',
};

/** It names everything that makes the service weaker than its defaults (delivery 3). */
export const weakened = check<Weakness[]>('weakened', {
  look: async ({ store, config }) => weaknesses(config, await store.clients.listWeakened(mostWeakened)),
  judge(seen) {
    if (seen.length === 0) return [ok('nothing')];
    const kinds = [...new Set(seen.map(({ kind }) => kind))];
    return kinds.map((kind) => {
      const all = seen.flatMap((one) => (one.kind !== kind ? [] : 'clientId' in one ? [one.clientId] : [one.issuer]));
      const named = all.slice(0, 5).join(', ') + (all.length > 5 ? ` and ${all.length - 5} more` : '');
      return warning(`${kind}: ${named}`, remedies[kind]);
    });
  },
});
