// The commands of the audit trail: its newest events, and all that a filter finds as a file.
import { isIP } from 'node:net';
import { auditEventView } from '../domain/administrator-views.ts';
import { exportEvents } from '../domain/audit-export.ts';
import { type AuditEventType, auditEventTypes } from '../repositories/audit/audit-events.ts';
import { isEventId, tokenIssued, viewedTypes } from '../repositories/audit/audit-view.ts';
import { by, type Command, parse, table, UsageError, withDatabase } from './command.ts';
import { formatOf, writeText } from './file.ts';

const filterUsage =
  '[--type T] [--outcome success|failure] [--actor WHO] [--address IP] [--client ID] [--sub SUB] [--since TIME] [--until TIME]';
const filterOptions = {
  type: { type: 'string' },
  outcome: { type: 'string' },
  actor: { type: 'string' },
  address: { type: 'string' },
  client: { type: 'string' },
  sub: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const;

type Given = { [option in keyof typeof filterOptions]?: string | undefined };

/** What to look for. @throws UsageError */
function readFilter({ type, outcome, actor, address, client: clientId, sub, since, until }: Given) {
  if (type !== undefined && !viewedTypes.some((known) => known === type))
    throw new UsageError(
      '--type takes a type of event, such as user.signed_in or token.issued: docs/reference.md lists them.',
    );
  if (outcome !== undefined && outcome !== 'success' && outcome !== 'failure')
    throw new UsageError('--outcome takes success or failure.');
  if (address !== undefined && isIP(address) === 0) throw new UsageError('--address takes an IP address.');
  const time = { since: readTime('since', since), until: readTime('until', until) };
  return { type, outcome, actor, address, clientId, sub, ...time } as const;
}

function readTime(option: 'since' | 'until', text: string | undefined): Date | undefined {
  const read = new Date(text ?? 0);
  if (Number.isNaN(read.getTime()) || Math.abs(read.getUTCFullYear()) > 9999)
    throw new UsageError(`--${option} takes a time such as 2026-01-31T12:00:00Z.`);
  return text === undefined ? undefined : read;
}

export const auditCommands: Record<string, Command> = {
  'audit list': {
    usage: `${filterUsage} [--limit N] [--before EVENT]`,
    summary:
      'Lists the newest events of the audit trail and the issues of the tokens that are still stored; --before goes on below an event.',
    async run(config, args) {
      const { values } = parse(args, {
        ...filterOptions,
        before: { type: 'string' },
        limit: { type: 'string', default: '50' },
      });
      const limit = Number(values.limit);
      if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000)
        throw new UsageError('--limit takes a number from 1 to 10000.');
      const filter = readFilter(values);
      const { before } = values;
      if (before !== undefined && !isEventId(before))
        throw new UsageError('--before takes the id of an event, as the list shows it.');
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
    },
  },
  'audit export': {
    usage: `[FILE] [--format csv|jsonl] ${filterUsage}`,
    summary:
      'Writes all events of the audit trail that the filter finds, newest first, into a new file; to standard output without one.',
    async run(config, args, terminal) {
      const file = args[0]?.startsWith('-') ? undefined : args[0];
      const rest = file === undefined ? args : args.slice(1);
      const { values } = parse(rest, { ...filterOptions, format: { type: 'string' } });
      const { format: given, client, ...others } = values;
      const format = formatOf(given, file);
      const { type, ...filter } = readFilter(values);
      if (type === tokenIssued)
        throw new UsageError(
          'The issues of tokens are no events of the trail: audit list --type token.issued lists them.',
        );
      // one of the types that the view knows, and not the other kind
      const search = { ...filter, type: auditEventTypes.find((known): known is AuditEventType => known === type) };
      await withDatabase(config, async ({ store }) => {
        const asked = { ...others, client_id: client };
        await writeText(terminal, file, await exportEvents(store, by, format, search, asked));
      });
      return { json: { file, format }, text: file === undefined ? '' : `The events are in ${file}.` };
    },
  },
};
