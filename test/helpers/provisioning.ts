// Makes provisioning targets of a service with users of their own, and waits until an application has what it is to have.
import { type Answer, call, eventually } from './grants.ts';
import type { ScimApplications } from './scim-application.ts';
import type { TestService } from './service.ts';

export interface MadeTarget {
  id: string;
  /** The first segment of the paths of the application. */
  app: string;
  clientId: string;
  /** The group whose members may use the client. */
  group: string;
  subs: string[];
  /** Its address in the API. */
  at: string;
}

export interface Counts {
  active: number;
  creating: number;
  leaving: number;
  waiting: number;
  failing: number;
}
export interface ShownTarget {
  state: string;
  counts: Counts;
  version: number;
}
export type ShownAccount = Record<string, unknown> & { sub: string; state: string; waiting: boolean };

let made = 0;

export function provisioningOf(service: TestService, applications: ScimApplications, token: string) {
  const api = (path: string, method = 'GET', body?: object): Promise<Answer> =>
    call(`${service.issuer}/admin/api${path}`, { method, token, ...(body && { body }) });

  const shown = async ({ at }: Pick<MadeTarget, 'at'>) => (await api(at)).body as unknown as ShownTarget;
  const accounts = async ({ at }: Pick<MadeTarget, 'at'>) =>
    (await api(`${at}/users?limit=200`)).body['users'] as ShownAccount[];
  const until = (target: Pick<MadeTarget, 'at'>, satisfies: (one: ShownTarget) => boolean) =>
    eventually(() => shown(target), satisfies);
  /** Waits until all changes so far are noted and sent. */
  const settled = async (target: MadeTarget): Promise<ShownTarget> => {
    await eventually(
      () => service.database.sql<{ n: string }>(`SELECT count(*) AS n FROM outbox WHERE channel = 'provisioning'`),
      ([row]) => row!.n === '0',
    );
    await eventually(
      () =>
        service.database.sql(`SELECT FROM provisioning_runs WHERE target_id = $1 AND review IS NOT NULL`, [target.id]),
      (rows) => rows.length === 0,
    );
    const last = await until(target, ({ state, counts }) => state === 'held' || counts.waiting === 0);
    await eventually(
      () =>
        service.database.sql(
          `SELECT FROM provisioned_groups g JOIN provisioning_runs r USING (target_id) WHERE target_id = $1 AND waiting AND r.held IS NULL`,
          [target.id],
        ),
      (rows) => rows.length === 0,
    );
    return last;
  };

  return {
    api,
    shown,
    accounts,
    until,
    settled,
    /** Users of a group of their own, and the provisioning target of a client that only this group may use. */
    async newTarget({
      users = 1,
      approved = true,
      metadata = {},
      ...members
    }: { users?: number; approved?: boolean; metadata?: object } & Record<string, unknown> = {}): Promise<MadeTarget> {
      const app = `app-${++made}`;
      const group = `users of ${app}`;
      await api('/groups', 'POST', { name: group });
      const subs: string[] = [];
      for (let index = 0; index < users; index++)
        subs.push((await service.createUser({ username: `${app}-user-${index}`, groups: [group] })).sub);
      const { clientId } = await service.createClient({ client_name: app, ...metadata });
      const changed = await api(`/clients/${clientId}`, 'PATCH', { access: 'groups', access_groups: [group] });
      if (changed.status !== 200) throw new Error(JSON.stringify(changed.body));
      const input = { client: clientId, base_url: applications.uri(app), bearer_token: `token of ${app}`, ...members };
      const created = await api('/provisioning-targets', 'POST', input);
      if (created.status !== 201) throw new Error(JSON.stringify(created.body));
      const { id } = created.body as { id: string };
      const target = { id, app, clientId, group, subs, at: `/provisioning-targets/${id}` };
      if (approved) {
        await until(target, ({ counts }) => counts.creating === users);
        await api(`${target.at}/approve`, 'POST', {});
        await settled(target);
      }
      return target;
    },
    /** Lets the pauses of a target and of its accounts end, and the leases of an instance that died. */
    async pausesEnd({ id }: Pick<MadeTarget, 'id'>): Promise<void> {
      await service.database.sql('UPDATE provisioning_runs SET retry_at = NULL WHERE target_id = $1', [id]);
      await service.database.sql(
        `UPDATE provisioned_users SET next_attempt_at = now(), leased_until = NULL WHERE target_id = $1 AND waiting AND leased_until IS NULL`,
        [id],
      );
      await service.database.sql(
        `UPDATE provisioned_groups SET next_attempt_at = now() WHERE target_id = $1 AND waiting AND leased_until IS NULL`,
        [id],
      );
      await service.database.sql(`SELECT pg_notify('gatehouse', 'provisioned')`);
    },
  };
}
