// Serves GET /admin, the console's overview: pending approvals, the status of the service, recent events and totals.
import type { FastifyInstance } from 'fastify';
import { hostsOf } from '../../operations/pages/client-reviews.ts';
import { overview } from '../../operations/pages/service.ts';
import type { ConsoleFrame, Pages } from '../../../pages/views/index.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { alsoHead } from '../../../server/head.ts';
import { singleValued } from '../../../server/parameters.ts';
import { beginningOf, chart } from './chart.ts';
import type { Config } from '../../../config.ts';
import type { KeyRing } from '../../../tokens/key-ring.ts';
import type { Database } from '../../../database/database.ts';
import type { HourlyGrants } from '../../../domain/audit/hourly-grants.ts';
import type { Console } from '../admin-session.ts';

/** Milliseconds after which the retention job counts as late; it runs every quarter of a minute. */
const lateAfter = 5 * 60_000;
/** Milliseconds of uncounted events after which the page says so. The job never counts the last minute. */
const behindAfter = 15 * 60_000;
/** Milliseconds after which a due mail counts as late: the mail server has refused it several times. */
const mailLateAfter = 5 * 60_000;
/** Milliseconds after which a due rotation of keys counts as late. */
const rotationLateAfter = 60 * 60_000;

interface OverviewRoutesDependencies {
  config: Config;
  keyRing: KeyRing;
  database: Pick<Database, 'connections'>;
  hourlyGrants: HourlyGrants;
  console: Console;
}

export async function overviewRoutes(
  app: FastifyInstance,
  { console, keyRing, config, database, hourlyGrants }: OverviewRoutesDependencies,
): Promise<void> {
  const started = new Date();
  console.page(
    app,
    '/admin',
    async (admin, request) => {
      const period = singleValued(request.query)['period'] === 'month' ? 'month' : 'day';
      const found = await admin.run(overview, (now) => beginningOf(period, now));
      const { state, newest, counts, mails, amounts } = found;
      const { now } = state;
      if (hourlyGrants.uncounted > 0) {
        const hour = new Date(Math.floor(now.getTime() / 3_600_000) * 3_600_000);
        counts.push({ hour, kind: 'grant', count: hourlyGrants.uncounted });
      }
      const { lifetimes } = config;
      const shown = chart(period, counts, now);
      const { totals } = shown;
      const begin = shown.bars[0]!.at;
      // the counts are kept for longer than the events
      const hasEvents =
        lifetimes.auditRetention === 0 || begin.getTime() >= now.getTime() - lifetimes.auditRetention * 1000;
      const listOf = (filter: string) =>
        hasEvents ? { uri: `/admin/audit?${filter}&since=${begin.toISOString().slice(0, 16)}` } : {};
      const oldest = new Date(
        Math.min(
          ...keyRing.keys.filter(({ state }) => state === 'signing').map(({ createdAt }) => createdAt.getTime()),
        ),
      );
      const rotation =
        lifetimes.keyRotationInterval > 0
          ? new Date(oldest.getTime() + lifetimes.keyRotationInterval * 1000)
          : undefined;
      const data: Omit<Pages['console-overview'], keyof ConsoleFrame> = {
        newest: newest.map(({ clientId, metadata, pendingMetadata, createdAt, updatedAt }) => ({
          name: displayName(clientId, pendingMetadata ?? metadata),
          host: hostsOf((pendingMetadata ?? metadata).redirect_uris)[0] ?? '',
          at: pendingMetadata ? updatedAt : createdAt,
          uri: `/admin/clients/${encodeURIComponent(clientId)}`,
        })),
        figures: [
          { name: 'users', ...amounts.users, uri: '/admin/users' },
          { name: 'clients', ...amounts.clients, uri: '/admin/clients' },
          { name: 'sessions', ...amounts.sessions, uri: '/admin/sessions' },
          { name: 'events', ...amounts.events, uri: '/admin/audit' },
        ],
        recent: [
          { name: 'signed-in', count: totals.signedIn, ...listOf('type=user.signed_in') },
          { name: 'failed', count: totals.failed, ...listOf('type=user.sign_in_failed') },
          { name: 'refused', count: totals.failed + totals.refused, ...listOf('outcome=failure') },
          // without a link: no list has all counted grants, since expired tokens are deleted
          { name: 'granted', count: totals.granted },
        ],
        chart: shown,
        health: {
          database: found.database,
          connections: database.connections(),
          keys: {
            uri: '/admin/keys',
            late: rotation !== undefined && now.getTime() - rotation.getTime() > rotationLateAfter,
            ...(rotation && { next: rotation }),
          },
          cleanUp: {
            // a job that has never finished counts as late some time after the start of this instance
            late: now.getTime() - (state.finishedAt ?? started).getTime() > lateAfter,
            ...(state.finishedAt && { at: state.finishedAt }),
          },
          mails: {
            waiting: mails.waiting,
            ...(mails.since && { since: mails.since }),
            late: mails.since !== undefined && now.getTime() - mails.since.getTime() > mailLateAfter,
          },
        },
      };
      if (now.getTime() - state.countedUntil.getTime() > behindAfter) data.countedUntil = state.countedUntil;
      return admin.send('console-overview', data, { section: 'overview' });
    },
    { ...alsoHead, needs: overview },
  );
}
