// Declares the channel of requests to provisioning targets (RFC 7644): in order for each user, and with a place of its own for each target.
import type { Logger } from 'pino';
import { createAccountDelivery } from '../domain/provisioning/deliver-account.ts';
import { createGroupDelivery } from '../domain/provisioning/deliver-group.ts';
import { holdMassChanges } from '../domain/provisioning/hold.ts';
import {
  attemptLimits,
  createTargetClients,
  RequestRefused,
  TargetFailure,
  type TargetClientOptions,
} from '../domain/provisioning/target-client.ts';
import { maxTargets } from '../entities/provisioning-targets.ts';
import type { Account } from '../repositories/provisioning/provisioned-users.ts';
import type { TargetGroup } from '../repositories/provisioning/provisioned-groups.ts';
import type { Target } from '../repositories/provisioning/provisioning-targets.ts';
import type { Store } from '../repositories/store.ts';
import type { Channel, Failure } from './channel.ts';

export interface TargetChannelOptions extends TargetClientOptions {
  store: Store;
  logger: Logger;
}

/** What an attempt is for, and the status of the answer that it failed with. */
export type Due = ({ account: Account; group?: never } | { group: TargetGroup; account?: never }) & {
  /** Of an attempt that failed. */
  failed?: { status: number | undefined; ofTarget: boolean };
};

const perTarget = 4;
/** Seconds: longer than all requests of an attempt can take, with some for its statements. */
const lease = (attemptLimits.begin + attemptLimits.last) / 1000 + 20;
/** Seconds until the next attempt, by the number of the attempts; the last one repeats. */
const pauses = [5, 60, 300, 1800, 7200, 21_600];
const mostPauseOfTarget = 300;

export function targetChannel({ store, logger, ...options }: TargetChannelOptions): Channel<Due> {
  const connect = createTargetClients(options);
  const deliverAccount = createAccountDelivery(store);
  const deliverGroup = createGroupDelivery(store);
  const { provisionedUsers, provisionedGroups, provisioningTargets } = store;

  async function sendAccount(account: Account, target: Target): Promise<void> {
    const delivered = await deliverAccount(account, target, connect(target));
    switch (delivered.kind) {
      case 'lost':
        return;
      case 'nothing':
        await provisionedUsers.forget(account);
        return;
      case 'recount':
        await provisionedUsers.recount(account, delivered.isWanted);
        return;
      case 'outcome': {
        const { outcome, failure } = delivered;
        await store.transaction(async (repositories) => {
          if (await repositories.provisionedUsers.finish(account, outcome, failure))
            await repositories.provisionedGroups.markOf(account.targetId, account.sub);
        });
        if (outcome.status !== undefined) {
          await provisioningTargets.succeed(target.id);
          logger.info(
            { ...factsOf({ account }), act: outcome.act, status: outcome.status, problem: failure },
            'account at a provisioning target',
          );
        }
      }
    }
  }

  async function sendGroup(group: TargetGroup, target: Target): Promise<void> {
    if ((await deliverGroup(group, target, connect(target))) === 'gone') await provisionedGroups.forget(group);
    else await provisionedGroups.finish(group);
    await provisioningTargets.succeed(target.id);
  }

  async function attempt(due: Due, target: Target): Promise<Failure<Due>[]> {
    try {
      if (due.account) await sendAccount(due.account, target);
      else await sendGroup(due.group, target);
      return [];
    } catch (error) {
      // another instance goes on after the lease
      if (options.stopped.aborted) return [];
      if (!(error instanceof TargetFailure) && !(error instanceof RequestRefused)) throw error;
      if (error instanceof TargetFailure) await failed(target, error);
      const answer = { status: error.status, ofTarget: error instanceof TargetFailure };
      return [{ row: { ...due, failed: answer }, reason: error.message }];
    }
  }

  const failed = ({ id, client }: Target, { message, pause }: TargetFailure): Promise<void> =>
    store.transaction(async (repositories) => {
      if (!(await repositories.provisioningTargets.fail(id, message, pause))) return;
      const event = { type: 'provisioning_target.failing', outcome: 'success', actor: 'service' } as const;
      await repositories.auditEvents.insert({ ...event, clientId: client, detail: { provisioning_target: id } });
    });

  return {
    name: 'provisioned',
    queue: {
      async claim(repositories, busy) {
        await review(repositories);
        const targets = maxTargets - busy.size;
        if (targets < 1) return [];
        const accounts = await repositories.provisionedUsers.claim({
          busy: [...busy],
          targets,
          parallel: perTarget,
          lease,
        });
        const taken = [...busy, ...accounts.map(({ targetId }) => targetId)];
        const groups = await repositories.provisionedGroups.claim({ busy: taken, targets, lease });
        const rows: Due[] = [...accounts.map((account) => ({ account })), ...groups.map((group) => ({ group }))];
        return [...Map.groupBy(rows, targetOf)].map(([name, all]) => ({ name, rows: all }));
      },
      nextPause: (repositories) => repositories.provisionedUsers.nextPause(),
      giveUp: async () => [], // an account that has yet to end waits until it ends
      async fail({ account, group, failed }, reason) {
        const own = pauses[Math.min((account ?? group).attempts, pauses.length) - 1]!;
        // the pause of the target itself is the longer one
        const pause = failed?.ofTarget ? Math.min(own, mostPauseOfTarget) : own;
        const isNoted = account
          ? await provisionedUsers.fail(account, reason, failed?.status, pause)
          : await provisionedGroups.fail(group, reason, pause);
        return isNoted ? pause : undefined;
      },
      end: async () => false,
    },
    async handle(rows) {
      const target = await provisioningTargets.usable(targetOf(rows[0]!));
      // it was disabled or deleted since
      if (!target) return [];
      return (await Promise.all(rows.map((row) => attempt(row, target)))).flat();
    },
    recordEnd: async () => undefined,
    facts: factsOf,
    messages: {
      failed: 'a provisioning target was not brought up to date; will retry',
      givenUp: 'a provisioning target could not be brought up to date; giving up',
      unread: 'changes for provisioning targets could not be read',
      unrecorded: 'the answer of a provisioning target could not be recorded',
    },
  };
}

const targetOf = ({ account, group }: Due): string => (account ?? group).targetId;
const factsOf = ({ account, group }: Due) =>
  account
    ? { provisioning_target: account.targetId, sub: account.sub, attempts: account.attempts }
    : { provisioning_target: group!.targetId, group: group!.name, attempts: group!.attempts };

/** Reviews all users of one target whose review is due, and holds targets where too many would lose their accounts. */
async function review(repositories: Parameters<Channel<Due>['queue']['claim']>[0]): Promise<void> {
  const { provisioningTargets, provisionedUsers, provisionedGroups } = repositories;
  const due = await provisioningTargets.dueReview();
  if (due) {
    await provisionedUsers.review(due.targetId, due.everyone);
    if (due.everyone) await provisionedGroups.markAll(due.targetId);
    await provisioningTargets.reviewed(due.targetId);
    await provisionedUsers.forgetGone();
  }
  await provisioningTargets.noteReviews();
  await holdMassChanges(repositories);
}
