// Declares the operations on signing keys, and the operation that creates an initial access token.
import { z } from 'zod';
import { keyView } from '../../domain/administration/administrator-views.ts';
import { text } from '../../oauth/text.ts';
import { type KeyRing, keyAlgorithms } from '../../tokens/key-ring.ts';
import { newOpaqueToken } from '../../tokens/opaque-token.ts';
import { operation } from './operation.ts';
import { table } from './text-table.ts';

const section = { permission: 'keys', tag: 'keys' } as const;
const path = '/admin/api/keys';

type Keys = KeyRing['keys'];
const keys = {
  view: (ring: KeyRing) => ({ keys: ring.keys.map(keyView) }),
};
const output = {
  text: (ring: KeyRing) =>
    table(
      ['KID', 'ALG', 'STATE', 'SIGNS FROM', 'PUBLISHED UNTIL'],
      ring.keys.map((key: Keys[number]) => [
        key.kid,
        key.alg,
        key.state,
        key.activeAt.toISOString(),
        key.expiresAt?.toISOString() ?? '',
      ]),
    ),
  json: (ring: KeyRing) => ring.keys.map(keyView),
};

export const listKeys = operation({
  ...keys,
  method: 'GET',
  path,
  ...section,
  summary: 'Lists the signing keys, without their private parts',
  answer: 'Keys',
  handler: (context) => context.keyRing(),
  command: { name: 'keys list', ...output },
});

export const rotateKeys = operation({
  ...keys,
  method: 'POST',
  path,
  ...section,
  summary:
    'Creates a new signing key for each algorithm, or for the given ones; it becomes active after its publication time, or after two seconds with immediate, and its state is waiting until then',
  input: () =>
    z.strictObject({
      immediate: z.boolean().optional().describe('The new keys become active after two seconds.'),
      algorithms: z
        .array(z.enum(keyAlgorithms))
        .min(1)
        .max(keyAlgorithms.length)
        .optional()
        .describe('Only keys for these algorithms; by default, a key for each.'),
    }),
  status: 201,
  answer: 'Keys',
  async handler(context, { input: { immediate, algorithms }, actor }) {
    const ring = await context.keyRing();
    const lead = immediate ? 0 : context.config.lifetimes.keyPublicationLead;
    await ring.rotate({ lead, algorithms: algorithms && [...new Set(algorithms)], by: actor });
    return ring;
  },
  command: {
    name: 'keys rotate',
    summary:
      'Creates a new signing key for each algorithm, or for the given ones; it is published immediately, and becomes active after its publication time',
    options: { alg: 'algorithms', immediate: 'immediate' },
    ...output,
  },
});

export const withdrawKey = operation({
  method: 'DELETE',
  path: `${path}/:kid`,
  ...section,
  summary:
    'Revokes a signing key immediately, for example because it leaked; tokens that it signed are no longer accepted',
  params: z.object({ kid: text(64) }),
  async handler(context, { params: { kid }, actor }) {
    const ring = await context.keyRing();
    await ring.withdraw(kid, actor);
    return ring;
  },
  command: {
    name: 'keys withdraw',
    summary:
      'Revokes a signing key immediately, for example because it leaked; to revoke the active key, first run bin/gatehouse keys rotate --immediate',
    ...output,
  },
});

const createRegistrationToken = operation({
  method: 'POST',
  path: '/admin/api/registration-tokens',
  permission: 'clients',
  tag: 'registration tokens',
  summary: 'Creates an initial access token, shown once; a client that registers with it is enabled immediately',
  input: () =>
    z.strictObject({
      lifetime: z
        .int()
        .min(1)
        .max(366 * 86_400)
        .optional()
        .describe('Seconds until the token expires.'),
    }),
  status: 201,
  answer: 'RegistrationToken',
  async handler({ administration, config }, { input: { lifetime = config.lifetimes.initialAccessToken }, actor }) {
    const { token, hash } = newOpaqueToken('initial_access_token');
    return { token, expiresAt: await administration.createRegistrationToken(actor, hash, lifetime) };
  },
  view: ({ token, expiresAt }) => ({ initial_access_token: token, expires_at: expiresAt.toISOString() }),
  command: {
    name: 'registration-token create',
    text: ({ token, expiresAt }, { config }) =>
      `${token}\n\nSend it as: Authorization: Bearer TOKEN with POST ${config.issuer}/register, before ${expiresAt.toISOString()}.`,
  },
});

export const keyOperations = [createRegistrationToken, listKeys, rotateKeys, withdrawKey];
