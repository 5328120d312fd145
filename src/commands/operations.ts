// The commands for registration tokens, keys, the audit trail and the schema.
import pino from 'pino';
import { openConnection } from '../connection.ts';
import { migrate } from '../database/migrations.ts';
import { auditEventView, keyView } from '../http/administrator-views.ts';
import { openKeyRing } from '../tokens/key-ring.ts';
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
    usage: '[--immediate]',
    summary:
      'Makes a new signing key of each algorithm; it is published at once and signs once everybody knows it (--immediate: at once).',
    async run(config, args) {
      const { values } = parse(args, { immediate: { type: 'boolean', default: false } });
      const keys = await withDatabase(config, async (context) => {
        const ring = await openKeys(context);
        const kids = await ring.rotate({ lead: values.immediate ? 0 : config.lifetimes.keyPublicationLead });
        await context.administration.keysRotated(by, kids);
        return ring.keys;
      });
      return { json: keys.map(keyView), text: keyTable(keys) };
    },
  },
  'audit list': {
    usage: '[--type T] [--client ID] [--sub SUB] [--limit N]',
    summary: 'Lists the newest events of the audit trail.',
    async run(config, args) {
      const { values } = parse(args, {
        type: { type: 'string' },
        client: { type: 'string' },
        sub: { type: 'string' },
        limit: { type: 'string', default: '50' },
      });
      const limit = Number(values.limit);
      if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000)
        throw new UsageError('--limit takes a number from 1 to 10000.');
      const events = await withDatabase(config, ({ store }) =>
        store.auditEvents.list(
          { type: values.type, clientId: values.client, sub: values.sub },
          { limit, before: undefined },
        ),
      );
      return {
        json: events.map(auditEventView),
        text: table(
          ['AT', 'TYPE', 'OUTCOME', 'ACTOR', 'CLIENT', 'SUB'],
          events.map((event) => [
            event.at.toISOString(),
            event.type,
            event.outcome,
            event.actor ?? '',
            event.clientId ?? '',
            event.sub ?? '',
          ]),
        ),
      };
    },
  },
  migrate: {
    usage: '',
    summary: 'Brings the database schema up to date, as every start does.',
    async run(config, args) {
      parse(args, {});
      const connection = await openConnection(config, pino({ level: 'silent' }));
      try {
        const done = await migrate(connection.options);
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
