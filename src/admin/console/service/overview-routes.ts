// Serves GET /admin, the console's overview: what is still to be set up, pending approvals, the status of the service, recent events and totals.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { hostsOf } from '../../operations/pages/client-reviews.ts';
import { checklist, type ChecklistItem, confirmBackup, overview } from '../../operations/pages/service.ts';
import type { ConsoleFrame, Pages } from '../../../pages/views/index.ts';
import { displayName } from '../../../oauth/client-metadata.ts';
import { alsoHead } from '../../../server/head.ts';
import { text } from '../../../oauth/text.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
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
/** Milliseconds after which an event that the collector of the audit stream does not have counts as late. */
const streamLateAfter = 5 * 60_000;
/** Milliseconds after which a due rotation of keys counts as late. */
const rotationLateAfter = 60 * 60_000;

interface OverviewRoutesDependencies {
  config: Config;
  keyRing: KeyRing;
  database: Pick<Database, 'connections'>;
  hourlyGrants: HourlyGrants;
  console: Console;
}

const backupPath = '/admin/checklist/backup';
const sent = z.object({ csrf: text(100).optional() });
/** Where each item of the checklist is done. */
const placeOf: Readonly<Record<Exclude<ChecklistItem, 'backup'>, string>> = {
  email: '/admin/settings',
  administrator: '/admin/users',
  passkey: '/account/passkeys',
  client: '/admin/clients/new',
  https: '/admin/settings',
};

type OverviewPage = Omit<Pages['console-overview'], keyof ConsoleFrame>;
type FoundOverview = Awaited<ReturnType<(typeof overview)['handler']>>;

export async function overviewRoutes(app: FastifyInstance, options: OverviewRoutesDependencies): Promise<void> {
  const { console, config, hourlyGrants } = options;
  const started = new Date();
  console.page(
    app,
    '/admin',
    async (admin, request) => {
      const period = singleValued(request.query)['period'] === 'month' ? 'month' : 'day';
      const [found, items] = await Promise.all([
        admin.run(overview, (now) => beginningOf(period, now)),
        admin.run(checklist, undefined),
      ]);
      const { state, newest, counts, amounts } = found;
      const { now } = state;
      if (hourlyGrants.uncounted > 0) {
        const hour = new Date(Math.floor(now.getTime() / 3_600_000) * 3_600_000);
        counts.push({ hour, kind: 'grant', count: hourlyGrants.uncounted });
      }
      const shown = chart(period, counts, now);
      const { totals } = shown;
      const begin = shown.bars[0]!.at;
      const { auditRetention } = config.lifetimes;
      // the counts are kept for longer than the events
      const hasEvents = auditRetention === 0 || begin.getTime() >= now.getTime() - auditRetention * 1000;
      const listOf = (filter: string) =>
        hasEvents ? { uri: `/admin/audit?${filter}&since=${begin.toISOString().slice(0, 16)}` } : {};
      const data: OverviewPage = {
        ...(items.some(({ isDone }) => !isDone) && {
          checklist: items.map(({ name, isDone }) => ({
            name,
            isDone,
            ...(name === 'backup' ? { form: admin.form(backupPath) } : { uri: placeOf[name] }),
          })),
        }),
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
        ],
        chart: shown,
        unencrypted: config.unencrypted,
        health: healthOf(found, options, started),
      };
      if (now.getTime() - state.countedUntil.getTime() > behindAfter) data.countedUntil = state.countedUntil;
      return admin.send('console-overview', data, { section: 'overview' });
    },
    { ...alsoHead, needs: overview },
  );

  app.post(backupPath, async (request, reply) => {
    const { csrf } = readParameters(sent, request.body);
    const form = { csrf, action: backupPath, back: '/admin', fresh: true, needs: confirmBackup };
    const admin = await console.submitted(request, reply, form);
    if (!admin) return reply;
    await admin.run(confirmBackup, undefined);
    return admin.done('/admin', 'backup-confirmed');
  });
}

/** @param started when this instance did */
function healthOf(
  { database, mails, stream, state: { now, finishedAt } }: FoundOverview,
  { keyRing, config, database: pool }: OverviewRoutesDependencies,
  started: Date,
): OverviewPage['health'] {
  const { keyRotationInterval } = config.lifetimes;
  const signing = keyRing.keys.filter(({ state }) => state === 'signing');
  const oldest = Math.min(...signing.map(({ createdAt }) => createdAt.getTime()));
  const rotation = keyRotationInterval > 0 ? new Date(oldest + keyRotationInterval * 1000) : undefined;
  const isLate = (since: Date | undefined, after: number) =>
    since !== undefined && now.getTime() - since.getTime() > after;
  return {
    database,
    connections: pool.connections(),
    keys: { uri: '/admin/keys', late: isLate(rotation, rotationLateAfter), ...(rotation && { next: rotation }) },
    // a job that has not finished since this instance started counts as late some time after the start
    cleanUp: {
      late: isLate(finishedAt && finishedAt > started ? finishedAt : started, lateAfter),
      ...(finishedAt && { at: finishedAt }),
    },
    mails: {
      waiting: mails.waiting,
      ...(mails.since && { since: mails.since }),
      late: isLate(mails.since, mailLateAfter),
    },
    ...(stream && {
      stream: {
        waiting: stream.waiting,
        ...(stream.since && { since: stream.since }),
        ...(stream.lastFailure !== undefined && { failure: stream.lastFailure }),
        late: isLate(stream.since, streamLateAfter),
      },
    }),
  };
}
