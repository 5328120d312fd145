// Holds what is special to provisioning targets when they are created and changed, and approves and repeats their provisioning (federation 8).
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import {
  maxTargets,
  type ProvisioningTarget,
  type ProvisioningTargetMembers,
  provisioningTargets,
} from '../../entities/provisioning-targets.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import { isOutwardAddress } from '../../outbound/outward-address.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { secretsOfMove, type TargetAddresses } from '../../rules/provisioning/moved-target.ts';
import { entityAdministration } from './entities.ts';

export interface ProvisioningTargetContext {
  store: Store;
  secretBox: Pick<SecretBox, 'seal'>;
  config: Pick<Config, 'outboundAllow'>;
}

type Secrets = Pick<
  ProvisioningTarget,
  'bearerTokenEncrypted' | 'tokenEndpoint' | 'clientId' | 'clientSecretEncrypted'
>;

/** How requests to the target are authorized: by one of both ways, and not by a part of one. */
function checkAuthorization({ bearerTokenEncrypted, tokenEndpoint, clientId, clientSecretEncrypted }: Secrets): void {
  const parts = { token_endpoint: tokenEndpoint, client_id: clientId, client_secret: clientSecretEncrypted };
  const missing = Object.entries(parts).find(([, value]) => value === undefined)?.[0];
  const isEmpty = Object.values(parts).every((value) => value === undefined);
  if (bearerTokenEncrypted ? !isEmpty : isEmpty) throw invalidRequest(refusal('target-authorization', 'bearer_token'));
  if (!bearerTokenEncrypted && missing !== undefined) throw invalidRequest(refusal('missing', missing));
}

const addressesOf = ({
  baseUrl,
  tokenEndpoint,
}: Pick<ProvisioningTargetMembers, 'baseUrl' | 'tokenEndpoint'>): TargetAddresses => ({
  base_url: baseUrl,
  token_endpoint: tokenEndpoint,
});

export function provisioningTargetAdministration({ store, secretBox, config }: ProvisioningTargetContext) {
  function checkAddress(url: string | undefined, member: string): void {
    // the mail server would read the request as commands (federation FR46)
    if (url !== undefined && (!isOutwardAddress(url, config.outboundAllow) || new URL(url).port === '25'))
      throw invalidRequest(refusal('webhook-url', member));
  }
  /** A secret is good for one server: another one must not get it (security R162). */
  async function checkMove(
    { provisioningTargets: targets }: Repositories,
    after: ProvisioningTargetMembers,
  ): Promise<void> {
    const before = await targets.find(after.client);
    if (!before) return;
    const isSame = (one: Date | undefined, other: Date | undefined) =>
      one !== undefined && one.getTime() === other?.getTime();
    const moved = secretsOfMove(addressesOf(before), addressesOf(after));
    const kept = {
      bearer_token: isSame(before.bearerTokenSince, after.bearerTokenSince),
      client_secret: isSame(before.clientSecretSince, after.clientSecretSince),
    };
    const secret = moved.find((name) => kept[name]);
    if (secret !== undefined) throw invalidRequest(refusal('target-secret', secret));
  }

  const kernel = entityAdministration(
    store,
    provisioningTargets,
    {
      repository: (repositories) => repositories.provisioningTargets,
      taken: refusal('provisioning-target.taken', 'client'),
      full: refusal('provisioning-target.full', 'client', { most: String(maxTargets) }),
      facts: ({ id, client }) => ({ clientId: client, detail: { provisioning_target: id } }),
      async check(repositories, after, _members, isNew) {
        checkAddress(after.baseUrl, 'base_url');
        if (new URL(after.baseUrl).search !== '') throw invalidRequest(refusal('webhook-url', 'base_url'));
        checkAddress(after.tokenEndpoint, 'token_endpoint');
        checkAuthorization(after);
        if (!isNew) await checkMove(repositories, after);
      },
      async stored({ provisioningTargets: targets, provisionedGroups }, { id, status, version }, members) {
        const isNew = version === 1;
        if (isNew) await targets.begin(id);
        // another server has none of the accounts
        else if (members.includes('base_url')) await targets.restart(id);
        else {
          if (members.includes('status') && status === 'enabled') await targets.wantReview(id, 'access');
          if (members.includes('attributes')) await targets.wantReview(id, 'all');
          await targets.forgive(id);
        }
        if (isNew || members.includes('groups') || members.includes('base_url')) await provisionedGroups.markAll(id);
        return undefined;
      },
    },
    secretBox,
  );

  async function find(name: string): Promise<ProvisioningTarget> {
    const found = name.includes('\0') ? undefined : await store.provisioningTargets.find(name);
    if (!found) throw notFound('there is no such provisioning_target');
    return found;
  }
  const record = (
    { auditEvents }: Repositories,
    by: Actor,
    act: 'approved' | 'reconciled',
    one: ProvisioningTarget,
    more = {},
  ) =>
    auditEvents.insert({
      ...by,
      type: `provisioning_target.${act}`,
      outcome: 'success',
      clientId: one.client,
      detail: { provisioning_target: one.id, ...more },
    });

  return {
    ...kernel,
    /**
     * Lets a held target go on. @param leaving the most accounts that may end, as the administrator saw them
     * @throws OAuthError not_found, or conflict if it is not held, or more accounts would end
     */
    approve: async (by: Actor, name: string, leaving?: number): Promise<{ leaving: number }> => {
      const one = await find(name);
      return store.transaction(async (repositories) => {
        const { provisioningTargets: targets } = repositories;
        if ((await targets.lockHold(one.id)) === undefined)
          throw conflict(refusal('provisioning-target.not-held', 'provisioning_target'));
        const count = await targets.countLeaving(one.id);
        if (leaving !== undefined && count > leaving)
          throw conflict(refusal('provisioning-target.more-leaving', 'leaving', { count: String(count) }));
        await targets.approve(one.id);
        await record(repositories, by, 'approved', one, { leaving: count });
        return { leaving: count };
      });
    },
    /** Compares all users with the target now, and ends a pause of it. @throws OAuthError not_found, conflict for a disabled one */
    reconcile: async (by: Actor, name: string): Promise<void> => {
      const one = await find(name);
      if (one.status === 'disabled') throw conflict(refusal('provisioning-target.disabled', 'provisioning_target'));
      await store.transaction(async (repositories) => {
        await repositories.provisioningTargets.forgive(one.id);
        await repositories.provisioningTargets.wantReview(one.id, 'all');
        await record(repositories, by, 'reconciled', one);
      });
    },
  };
}
