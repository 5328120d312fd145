// Defines the commands that add users to a group and remove them, any number at once.
import { maxAtOnce } from '../domain/administration/groups.ts';
import { guardedGroups } from '../domain/administration/guarded-groups.ts';
import { notFound } from '../oauth/errors.ts';
import type { Store } from '../repositories/store.ts';
import { by, type Command, parse, withDatabase } from './command.ts';

function members(change: 'add' | 'remove', summary: string, done: string): Command {
  return {
    usage: 'NAME USER …',
    summary,
    async run(config, args, terminal) {
      const { positionals } = parse(args, {}, ['NAME', 'USER …']);
      const [group, ...names] = positionals as [string, ...string[]];
      return withDatabase(config, terminal, async ({ store, administration }) => {
        const subs = await subsOf(store, names);
        let changed = 0;
        for (let from = 0; from < subs.length; from += maxAtOnce) {
          const part = subs.slice(from, from + maxAtOnce);
          const { added, removed } = await administration.changeMembers(
            by,
            group,
            { [change]: part },
            guardedGroups(config),
          );
          changed += added.length + removed.length;
        }
        return { json: { group, changed, unchanged: subs.length - changed }, text: `${done} ${group}: ${changed}.` };
      });
    },
  };
}

async function subsOf(store: Store, named: string[]): Promise<string[]> {
  return (await store.userBatches.named(named)).map((sub, index) => {
    if (sub === undefined) throw notFound(`there is no user ${named[index]}`);
    return sub;
  });
}

export const groupMemberCommands: Record<string, Command> = {
  'group add': members('add', 'Adds users to a group.', 'New members of the group'),
  'group remove': members('remove', 'Removes users from a group.', 'Members removed from the group'),
};
