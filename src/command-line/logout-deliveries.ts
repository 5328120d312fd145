// The command for back-channel logout.
import { logoutDeliveryView } from '../domain/administrator-views.ts';
import { logoutDeliveryStatuses } from '../repositories/logout-deliveries/logout-deliveries.ts';
import { type Command, parse, table, UsageError, withDatabase } from './command.ts';

export const logoutDeliveryCommands: Record<string, Command> = {
  'logout-delivery list': {
    usage: '[--client ID] [--status waiting|delivered|refused|given_up] [--limit N]',
    summary:
      'Lists what clients were told or have yet to be told of ended sessions (back-channel logout), newest first.',
    async run(config, args) {
      const { values } = parse(args, {
        client: { type: 'string' },
        status: { type: 'string' },
        limit: { type: 'string', default: '50' },
      });
      const status = logoutDeliveryStatuses.find((known) => known === values.status);
      if (values.status !== undefined && status === undefined)
        throw new UsageError(`--status takes ${logoutDeliveryStatuses.join(', ')}.`);
      const limit = Number(values.limit);
      if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000)
        throw new UsageError('--limit takes a number from 1 to 10000.');
      const deliveries = await withDatabase(config, ({ store }) =>
        store.logoutDeliveries.list({ clientId: values.client, status }, { limit, after: undefined }),
      );
      return {
        json: deliveries.map(logoutDeliveryView),
        text: table(
          ['CREATED', 'CLIENT', 'SUB', 'STATUS', 'ATTEMPTS', 'NEXT ATTEMPT', 'LAST FAILURE'],
          deliveries.map((delivery) => [
            delivery.createdAt.toISOString(),
            delivery.clientId,
            delivery.sub,
            delivery.status,
            String(delivery.attempts),
            delivery.nextAttemptAt?.toISOString() ?? '',
            delivery.lastFailure ?? '',
          ]),
        ),
      };
    },
  },
};
