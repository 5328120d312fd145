// Defines the commands that approve and refuse pending registrations and changes, each at the version that the command reads.
import { approveClient } from '../admin/operations/client-decisions.ts';
import { findClient } from '../admin/operations/clients.ts';
import { refuseKept } from '../admin/operations/config/kept.ts';
import { facts, shellWord, table } from '../admin/operations/text-table.ts';
import { clientView } from '../domain/administration/administrator-views.ts';
import type { Config } from '../config.ts';
import type { Client } from '../repositories/clients/clients.ts';
import { contextOf } from './operation-command.ts';
import { by, type Command, type Output, parse, type Terminal, UsageError, withDatabase } from './command.ts';

export const clientDecisionCommands: Record<string, Command> = {
  'client approve': {
    usage: 'ID …',
    summary: 'Prints each client, then enables it; if a client is enabled, approves its pending change.',
    run: (config, args, terminal) => decide(config, terminal, parse(args, {}, ['ID …']).positionals, undefined),
  },
  'client refuse': {
    usage: 'ID … --reason TEXT',
    summary: 'Refuses the pending registration or change of each client; the registrants can read the reason.',
    options: [['--reason TEXT', 'Up to 1000 characters.']],
    async run(config, args, terminal) {
      const { values, positionals } = parse(args, { reason: { type: 'string' } }, ['ID …']);
      const reason = values.reason?.trim();
      if (!reason || reason.length > 1000) throw new UsageError('--reason must be a text of up to 1000 characters.');
      return decide(config, terminal, positionals, reason);
    },
  },
};

/** Decides about clients one by one, each at its present version. @param reason refuses them */
function decide(
  config: Config,
  terminal: Terminal,
  clientIds: readonly string[],
  reason: string | undefined,
): Promise<Output> {
  return withDatabase(config, terminal, async (context) => {
    const { store, administration } = context;
    const seen: Client[] = [];
    for (const clientId of clientIds) seen.push(await findClient(store, clientId));
    if (reason === undefined)
      for (const { clientId } of seen)
        await refuseKept(approveClient, contextOf(context, terminal), { params: { id: clientId }, input: {} });
    const [only] = seen;
    if (only && seen.length === 1) {
      const { clientId, version } = only;
      const client =
        reason === undefined
          ? await administration.approveClient(by, clientId, version)
          : await administration.refuseClient(by, clientId, version, reason);
      const text =
        reason === undefined
          ? `${facts(clientView(only))}\n\n${approved(only, client)}`
          : `Refused the pending registration or change of the client ${clientId}: ${reason}`;
      return { json: clientView(client), text };
    }
    const outcomes = await administration.decideClients(by, seen, reason);
    const words = {
      decided: reason === undefined ? 'approved' : 'refused',
      changed: 'not changed: nothing is pending, or it has just changed',
      held: 'not changed: another client holds one of its resource_uris',
      gone: 'does not exist',
    };
    const rows = outcomes.map(({ clientId, outcome }, index) => {
      const { status, pendingMetadata, metadata } = seen[index]!;
      // the change of a client that this command has just enabled stays pending
      const waits = outcome === 'decided' && reason === undefined && status === 'disabled' && pendingMetadata;
      const done = waits ? 'enabled; its change is still pending' : words[outcome];
      return [clientId, done, metadata.client_name ?? '', metadata.redirect_uris[0] ?? ''];
    });
    return {
      json: outcomes.map(({ clientId, outcome }) => ({ client_id: clientId, outcome })),
      text: table(['CLIENT_ID', 'OUTCOME', 'NAME', 'REDIRECT_URI'], rows),
      code: outcomes.every(({ outcome }) => outcome === 'decided') ? 0 : 1,
    };
  });
}

/** Describes the result of an approval. */
function approved(seen: Client, client: Client): string {
  if (client.pendingMetadata)
    return `The client is enabled ${seen.everEnabled ? 'with its previously approved settings' : 'without the addresses that wait'}. Its change (pending_changes) is still pending: run bin/gatehouse client approve ${shellWord(client.clientId)} again to approve it, or bin/gatehouse client refuse.`;
  if (client.uncollected) return 'Approved: the client is enabled when it collects its credentials.';
  return seen.pendingMetadata ? 'Approved: the pending changes are now in effect.' : 'Approved: the client is enabled.';
}
