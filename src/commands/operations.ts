// The commands for registration tokens, keys, the audit trail and the schema.
import { isIP } from 'node:net';
import pino from 'pino';
import { openConnection } from '../connection.ts';
import { migrate } from '../database/migrations.ts';
import { auditEventView, keyView } from '../http/administrator-views.ts';
import { isEventId, viewedTypes } from '../repositories/audit-view.ts';
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
  'audit list': {
    usage:
      '[--type T] [--outcome success|failure] [--actor WHO] [--address IP] [--client ID] [--sub SUB] [--since TIME] [--until TIME] [--limit N] [--before EVENT]',
    summary:
      'Lists the newest events of the audit trail and the issues of the tokens that are still stored; --before goes on below an event.',
    async run(config, args) {
      const { values } = parse(args, {
        type: { type: 'string' },
        outcome: { type: 'string' },
        actor: { type: 'string' },
        address: { type: 'string' },
        client: { type: 'string' },
        sub: { type: 'string' },
        since: { type: 'string' },
        until: { type: 'string' },
        before: { type: 'string' },
        limit: { type: 'string', default: '50' },
      });
      const { type, outcome, actor, address, client: clientId, sub, before } = values;
      const limit = Number(values.limit);
      if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000)
        throw new UsageError('--limit takes a number from 1 to 10000.');
      if (type !== undefined && !viewedTypes.some((known) => known === type))
        throw new UsageError(
          '--type takes a type of event, such as user.signed_in or token.issued: docs/reference.md lists them.',
        );
      if (outcome !== undefined && outcome !== 'success' && outcome !== 'failure')
        throw new UsageError('--outcome takes success or failure.');
      if (address !== undefined && isIP(address) === 0) throw new UsageError('--address takes an IP address.');
      if (before !== undefined && !isEventId(before))
        throw new UsageError('--before takes the id of an event, as the list shows it.');
      const filter = {
        type,
        outcome,
        actor,
        address,
        clientId,
        sub,
        since: time('since'),
        until: time('until'),
      } as const;
      const events = await withDatabase(config, ({ store }) => store.auditView.list(filter, { limit, before }));
      const rows = events.map((event) => [
        event.id,
        event.at.toISOString(),
        event.type,
        event.outcome,
        event.actor ?? '',
        event.clientId ?? '',
        event.sub ?? '',
      ]);
      const more = events.length === limit ? `\n\nThere may be more: add --before ${events.at(-1)!.id}` : '';
      return {
        json: events.map(auditEventView),
        text: table(['ID', 'AT', 'TYPE', 'OUTCOME', 'ACTOR', 'CLIENT', 'SUB'], rows) + more,
      };

      function time(option: 'since' | 'until'): Date | undefined {
        const text = values[option];
        const read = new Date(text ?? 0);
        if (Number.isNaN(read.getTime()) || Math.abs(read.getUTCFullYear()) > 9999)
          throw new UsageError(`--${option} takes a time such as 2026-01-31T12:00:00Z.`);
        return text === undefined ? undefined : read;
      }
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
