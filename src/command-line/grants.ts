// The commands for what users granted to clients.
import { grantView } from '../domain/administrator-views.ts';
import { by, type Command, findUser, listLimit, parse, table, withDatabase } from './command.ts';

export const grantCommands: Record<string, Command> = {
  'grant list': {
    usage: 'NAME',
    summary: 'Lists what a user granted to clients.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME']);
      const grants = await withDatabase(config, async ({ store }) =>
        store.grants.list((await findUser(store, positionals[0]!)).sub, { limit: listLimit, after: undefined }),
      );
      return {
        json: grants.map(grantView),
        text: table(
          ['CLIENT_ID', 'SINCE', 'SCOPE', 'NAME'],
          grants.map((grant) => [
            grant.clientId,
            grant.createdAt.toISOString(),
            grant.scope.join(' '),
            grant.clientName,
          ]),
        ),
      };
    },
  },
  'grant withdraw': {
    usage: 'NAME CLIENT_ID',
    summary: 'Withdraws what a user granted to a client and ends all that was issued for it.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME', 'CLIENT_ID']);
      const [name, clientId] = [positionals[0]!, positionals[1]!];
      const { sub } = await withDatabase(config, async ({ store, administration }) => {
        const user = await findUser(store, name);
        await administration.withdrawGrant(by, user.sub, clientId);
        return user;
      });
      return {
        json: { sub, client_id: clientId },
        text: `The grant of ${name} to the client ${clientId} is withdrawn; all that was issued for it is dead.`,
      };
    },
  },
};
