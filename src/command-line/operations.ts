// The commands for registration tokens, keys and the schema.
import pino from 'pino';
import { openConnection } from '../database/connection.ts';
import { keyView } from '../domain/administrator-views.ts';
import { keyAlgorithms, openKeyRing } from '../tokens/key-ring.ts';
import { newOpaqueToken } from '../tokens/opaque-token.ts';
import { by, type Command, type Context, parse, table, UsageError, withDatabase } from './command.ts';

export const operationCommands: Record<string, Command> = {
  'registration-token create': {
    usage: '[--lifetime SECONDS]',
    summary: 'Makes an initial access token: what registers with it is enabled at once.',
    async run(config, args) {
      const { values } = parse(args, { lifetime: { type: 'string' } });
      const lifetime = values.lifetime === undefined ? config.lifetimes.initialAccessToken : Number(values.lifetime);
      if (!Number.isSafeInteger(lifetime) || lifetime < 1 || lifetime > 366 * 86_400)
        throw new UsageError('--lifetime takes a whole number of seconds, a year at most.');
      const token = newOpaqueToken('initial_access_token');
      const expiresAt = await withDatabase(config, ({ administration }) =>
        administration.createRegistrationToken(by, token.hash, lifetime),
      );
      return {
        json: { initial_access_token: token.token, expires_at: expiresAt.toISOString() },
        text: `${token.token}\n\nSend it as: Authorization: Bearer TOKEN with POST ${config.issuer}/register, before ${expiresAt.toISOString()}.`,
      };
    },
  },
  'keys list': {
    usage: '',
    summary: 'Lists the signing keys.',
    async run(config, args) {
      parse(args, {});
      const keys = await withDatabase(config, async (context) => (await openKeys(context)).keys);
      return { json: keys.map(keyView), text: keyTable(keys) };
    },
  },
  'keys rotate': {
    usage: '[--alg A …] [--immediate]',
    summary:
      'Makes a new signing key of each algorithm, or of those named; it is published at once and signs once everybody knows it (--immediate: after two seconds).',
    async run(config, args) {
      const { values } = parse(args, {
        immediate: { type: 'boolean', default: false },
        alg: { type: 'string', multiple: true, default: [] },
      });
      const named = keyAlgorithms.filter((alg) => values.alg.includes(alg));
      if (values.alg.some((alg) => !named.some((known) => known === alg)))
        throw new UsageError(`--alg takes ${keyAlgorithms.join(', ')}.`);
      const keys = await withDatabase(config, async (context) => {
        const ring = await openKeys(context);
        const lead = values.immediate ? 0 : config.lifetimes.keyPublicationLead;
        await ring.rotate({ lead, algorithms: named.length > 0 ? named : undefined, by });
        return ring.keys;
      });
      return { json: keys.map(keyView), text: keyTable(keys) };
    },
  },
  'keys withdraw': {
    usage: 'KID',
    summary:
      'Takes a signing key away at once, as when it leaked; the one that signs needs another first: keys rotate --immediate.',
    async run(config, args) {
      // a name may begin with a hyphen
      const { positionals } = parse(['--', ...args], {}, ['KID']);
      const keys = await withDatabase(config, async (context) => {
        const ring = await openKeys(context);
        await ring.withdraw(positionals[0]!, by);
        return ring.keys;
      });
      return { json: keys.map(keyView), text: keyTable(keys) };
    },
  },
  migrate: {
    usage: '',
    summary: 'Brings the database schema up to date, as every start does.',
    async run(config, args) {
      parse(args, {});
      const connection = await openConnection(config, pino({ level: 'silent' }));
      try {
        const done = await connection.migrate();
        return {
          json: { migrations: done },
          text: done.length > 0 ? `Done: ${done.join(', ')}` : 'The database schema was up to date.',
        };
      } finally {
        await connection.close();
      }
    },
  },
};

function openKeys({ config, store, secretBox }: Context) {
  return openKeyRing({ store, secretBox, idTokenLifetime: config.lifetimes.idToken });
}

function keyTable(keys: Parameters<typeof keyView>[0][]): string {
  return table(
    ['KID', 'ALG', 'STATE', 'SIGNS FROM', 'PUBLISHED UNTIL'],
    keys.map((key) => [key.kid, key.alg, key.state, key.activeAt.toISOString(), key.expiresAt?.toISOString() ?? '']),
  );
}
