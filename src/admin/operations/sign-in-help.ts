// Declares the operations that help a user to sign in: list and remove second factors, and make a link that sets a password.
import { z } from 'zod';
import { secondFactorView } from '../../domain/administration/administrator-views.ts';
import { text } from '../../oauth/text.ts';
import type { SecondFactor } from '../../repositories/second-factors/second-factors.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';
import { recoveryUri } from '../../tokens/recovery-uri.ts';
import { bySub, operation } from './operation.ts';
import { table } from './text-table.ts';
import { findUser } from './users.ts';

const section = { permission: 'users', tag: 'users' } as const;
const path = '/admin/api/users/:sub';

export const listFactors = operation({
  method: 'GET',
  path: `${path}/second-factors`,
  ...section,
  summary: 'Lists the second factors of a user, and the number of recovery codes left',
  params: bySub,
  answer: 'SecondFactors',
  async handler({ store }, { params: { sub } }) {
    const user = await findUser(store, sub);
    const [factors, recoveryCodes] = await Promise.all([store.secondFactors.list(sub), store.recoveryCodes.count(sub)]);
    return { user, factors, recoveryCodes };
  },
  view: ({ factors, recoveryCodes }) => ({
    second_factors: factors.map(secondFactorView),
    recovery_codes: recoveryCodes,
  }),
  command: {
    name: 'user second-factors',
    text({ factors, recoveryCodes }) {
      const rows = factors.map(({ id, kind, name, createdAt, usedAt }) => [
        id,
        kind,
        name,
        createdAt.toISOString(),
        usedAt?.toISOString() ?? '',
      ]);
      return `${table(['ID', 'KIND', 'NAME', 'ADDED', 'USED'], rows)}\nRecovery codes left: ${recoveryCodes}`;
    },
  },
});

const removal = {
  method: 'DELETE',
  ...section,
  view: (removed: SecondFactor[]) => ({ removed: removed.map(secondFactorView) }),
} as const;

const removeFactors = operation({
  ...removal,
  path: `${path}/second-factors`,
  summary: 'Removes all second factors and recovery codes of a user who has lost them',
  params: bySub,
  internalInput: z.object({ id: text(100).describe('Only the second factor with this id.') }),
  handler: ({ administration }, { params: { sub }, input, actor }) =>
    administration.removeSecondFactor(actor, sub, input.id),
  command: {
    name: 'user remove-second-factor',
    summary: 'Removes all second factors of a user who has lost them, or the given one',
    text: (removed, { typed }) =>
      removed.length > 0
        ? `${removed.length} second ${removed.length === 1 ? 'factor' : 'factors'} of ${typed['sub']} removed.`
        : `The user ${typed['sub']} has no second factor: nothing changed.`,
  },
});

const removeFactor = operation({
  ...removal,
  path: `${path}/second-factors/:id`,
  summary: 'Removes one second factor of a user; removing the last one also removes the recovery codes',
  params: bySub.extend({ id: text(100) }),
  handler: ({ administration }, { params: { sub, id }, actor }) => administration.removeSecondFactor(actor, sub, id),
});

export const createRecoveryLink = operation({
  method: 'POST',
  path: `${path}/recovery-link`,
  ...section,
  summary: 'Creates a link, shown once, that lets a user set a new password; second factors are still required',
  params: bySub,
  input: () =>
    z.strictObject({
      lifetime: z
        .int()
        .min(1)
        .max(30 * 86_400)
        .optional()
        .describe('Seconds until the link expires.'),
    }),
  status: 201,
  answer: 'RecoveryLink',
  async handler({ administration, config }, { params: { sub }, input, actor }) {
    const { lifetime = config.lifetimes.recoveryLink } = input;
    const { token, hash } = newOpaqueToken('mailed_link');
    const expiresAt = await administration.createRecoveryLink(actor, sub, hash, lifetime);
    return { recoveryUri: recoveryUri(config.issuer, token), expiresAt };
  },
  view: (link) => ({ recovery_uri: link.recoveryUri, expires_at: link.expiresAt.toISOString() }),
  command: {
    name: 'user recovery-link',
    text: (link) =>
      `${link.recoveryUri}\n\nIt works once, before ${link.expiresAt.toISOString()}. Share it so that only the user can read it.`,
  },
});

export const signInHelpOperations = [listFactors, removeFactors, removeFactor, createRecoveryLink];
