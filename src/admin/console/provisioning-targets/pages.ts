// Serves the console's pages about provisioning targets: those of every entity, a page of its own for one with what it last heard of users, and its forms.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ProvisioningTarget, provisioningTargets } from '../../../entities/provisioning-targets.ts';
import { conflict } from '../../../oauth/errors.ts';
import type { Pages } from '../../../pages/views/index.ts';
import { singleValued } from '../../../server/parameters.ts';
import type { Operation } from '../../operations/operation.ts';
import {
  approveProvisioning,
  listProvisionedUsers,
  provisioningTargetActs,
  provisioningTargetPage,
  reconcileProvisioning,
} from '../../operations/provisioning-targets.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { entityPages } from '../entity-pages.ts';
import { submittedForms } from '../submitted-form.ts';

const section = 'provisioning_targets';
const pageSize = 50;
const uriOf = (id: string) => `/admin/provisioning-targets/${encodeURIComponent(id)}`;
const approveUri = (id: string) => `${uriOf(id)}/approve`;
const reconcileUri = (id: string) => `${uriOf(id)}/reconcile`;

type Shown = Pages['console-provisioning-target'];

async function usersOf(admin: AdminSession, id: string): Promise<Pick<Shown, 'users' | 'first' | 'next'>> {
  const { cursor } = singleValued(admin.request.query);
  const found = await admin.run(listProvisionedUsers, { provisioning_target: id }, { limit: pageSize, cursor });
  const { next_cursor: next } = listProvisionedUsers.view(found) as { next_cursor?: string };
  return {
    users: found.users.map((one) => ({
      sub: one.sub,
      ...(one.username !== undefined && { name: one.username, uri: `/admin/users/${encodeURIComponent(one.sub)}` }),
      ...(one.remoteId !== undefined && { remoteId: one.remoteId }),
      state: one.state,
      isWaiting: one.isWaiting,
      ...(one.act && { act: one.act }),
      ...(one.status !== undefined && { status: one.status }),
      ...(one.answeredAt && { answeredAt: one.answeredAt }),
      ...(one.lastFailure !== undefined && { failure: one.lastFailure }),
      ...(one.nextAttemptAt && { nextAt: one.nextAttemptAt }),
    })),
    ...(cursor && { first: uriOf(id) }),
    ...(next !== undefined && { next: `${uriOf(id)}?${new URLSearchParams({ cursor: next })}` }),
  };
}

/** An approval is for the number of accounts that the page showed. */
function approveForm(admin: AdminSession, { id, counts }: ProvisioningTarget) {
  const form = admin.form(approveUri(id));
  return { ...form, hidden: { ...form.hidden, leaving: String(counts.leaving) } };
}

export const provisioningTargetPages = entityPages(provisioningTargets, provisioningTargetActs, {
  known: ({ baseUrl }) => baseUrl,
  async show(admin, target, uris) {
    const { id, client, baseUrl, state, leave, groups, counts, createdAt } = target;
    const run = await admin.run(provisioningTargetPage, target);
    return admin.send(
      'console-provisioning-target',
      {
        target: {
          client,
          clientUri: `/admin/clients/${encodeURIComponent(client)}`,
          baseUrl,
          state,
          leave,
          groups: groups.map((name) => ({
            name,
            ...(run && Object.hasOwn(run.groupFailures, name) && { failure: run.groupFailures[name]! }),
          })),
          counts,
          createdAt,
          ...(run && { reviewedAt: run.reviewedAt }),
          ...(run?.failingSince && { failingSince: run.failingSince }),
          ...(run?.retryAt && { retryAt: run.retryAt }),
          ...(run?.lastFailure !== undefined && { failure: run.lastFailure }),
        },
        ...(run?.held && state === 'held' && { hold: run.held, approveForm: approveForm(admin, target) }),
        ...(state !== 'disabled' && { reconcileForm: admin.form(reconcileUri(id)) }),
        ...(await usersOf(admin, id)),
        ...uris,
      },
      { section },
    );
  },
});

/** The forms on the page of a provisioning target. */
export async function provisioningTargetForms(app: FastifyInstance, { console }: { console: Console }): Promise<void> {
  const submitted = submittedForms(console);
  /** @param action where the form is, by the id of its target */
  function form<P, I, R>(
    path: string,
    action: (id: string) => string,
    needs: Operation<P, I, R>,
    act: (
      admin: AdminSession,
      id: string,
      body: Record<string, string | undefined>,
    ) => ReturnType<AdminSession['perform']>,
    done: string,
  ): void {
    app.post(path, async (request: FastifyRequest, reply): Promise<FastifyReply> => {
      const { provisioning_target: id } = request.params as { provisioning_target: string };
      const sent = await submitted(request, reply, action(id), needs);
      if (!sent) return reply;
      const { admin, body } = sent;
      const acted = await act(admin, id, body);
      // it was approved or disabled since, or more accounts would end than the page showed
      if ('refused' in acted) throw conflict(acted.refused);
      return admin.done(uriOf(id), done);
    });
  }

  form(
    '/admin/provisioning-targets/:provisioning_target/approve',
    approveUri,
    approveProvisioning,
    (admin, id, { leaving = '' }) =>
      admin.perform(
        approveProvisioning,
        { provisioning_target: id },
        { leaving: /^\d{1,9}$/.test(leaving) ? Number(leaving) : 0 },
      ),
    'provisioning-target-approved',
  );
  form(
    '/admin/provisioning-targets/:provisioning_target/reconcile',
    reconcileUri,
    reconcileProvisioning,
    (admin, id) => admin.perform(reconcileProvisioning, { provisioning_target: id }),
    'provisioning-target-reconciled',
  );
}
