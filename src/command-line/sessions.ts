// The commands for the sessions of browsers.
import { sessionView } from '../domain/administrator-views.ts';
import { browserName } from '../domain/browser-name.ts';
import { by, type Command, findUser, listLimit, parse, table, withDatabase } from './command.ts';

export const sessionCommands: Record<string, Command> = {
  'session list': {
    usage: '[--user NAME]',
    summary: 'Lists the newest live sessions of browsers, of all users or of one.',
    async run(config, args) {
      const { values } = parse(args, { user: { type: 'string' } });
      const sessions = await withDatabase(config, async ({ store }) => {
        const sub = values.user === undefined ? undefined : (await findUser(store, values.user)).sub;
        return store.sessions.list({ sub }, { limit: listLimit, after: undefined });
      });
      return {
        json: sessions.map(sessionView),
        text: table(
          ['ID', 'USERNAME', 'SIGNED IN', 'USED', 'ADDRESS', 'BROWSER', 'CLIENTS'],
          sessions.map((session) => [
            session.sid,
            session.username,
            session.authTime.toISOString(),
            session.usedAt.toISOString(),
            session.address ?? '',
            browserName(session.userAgent) ?? '',
            session.clients.map(({ clientName }) => clientName).join(', '),
          ]),
        ),
      };
    },
  },
  'session end': {
    usage: 'ID',
    summary: 'Ends a session with all that came of it.',
    async run(config, args) {
      // a name may begin with a hyphen
      const { positionals } = parse(['--', ...args], {}, ['ID']);
      const id = positionals[0]!;
      await withDatabase(config, ({ administration }) => administration.endSession(by, id));
      return { json: { id }, text: `The session ${id} has ended; all that came of it is dead.` };
    },
  },
  'session end-all': {
    usage: 'NAME',
    summary: 'Ends all sessions of a user with all that came of them.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME']);
      const name = positionals[0]!;
      const { sub, sessions } = await withDatabase(config, async ({ store, administration }) => {
        const user = await findUser(store, name);
        return { sub: user.sub, sessions: await administration.endSessions(by, user.sub) };
      });
      return {
        json: { sub, sessions },
        text: `Sessions of ${name} that have ended: ${sessions}. All that came of them is dead.`,
      };
    },
  },
};
