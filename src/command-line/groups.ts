// The commands for groups.
import { groupView } from '../domain/administrator-views.ts';
import { groupDescription, groupName } from '../oauth/administration.ts';
import { invalidRequest, notFound } from '../oauth/errors.ts';
import { firstRefusal } from '../oauth/refusals.ts';
import { mostAtOnce } from '../domain/administration/groups.ts';
import type { Store } from '../repositories/store.ts';
import { by, type Command, parse, table, UsageError, withDatabase } from './command.ts';

function nameOf(given: string): string {
  const name = groupName.safeParse(given);
  if (!name.success) throw invalidRequest(firstRefusal(name.error, 'the name'));
  return name.data;
}

function members(act: 'add' | 'remove'): Command {
  return {
    usage: 'NAME USER …',
    summary: act === 'add' ? 'Puts users into a group.' : 'Takes users out of a group.',
    async run(config, args) {
      const [group, ...names] = parseNames(args);
      if (group === undefined || names.length === 0) throw new UsageError('This command needs: NAME USER.');
      return withDatabase(config, async ({ store, administration }) => {
        const subs = await subsOf(store, names);
        let changed = 0;
        for (let from = 0; from < subs.length; from += mostAtOnce) {
          const part = subs.slice(from, from + mostAtOnce);
          const { added, removed } = await administration.changeMembers(by, group, { [act]: part });
          changed += added.length + removed.length;
        }
        const text = act === 'add' ? `${changed} joined the group ${group}` : `${changed} left the group ${group}`;
        return { json: { group, changed, unchanged: subs.length - changed }, text: `${text}.` };
      });
    },
  };
}

function parseNames(args: string[]): string[] {
  const option = args.find((word) => word.startsWith('-'));
  if (option !== undefined) throw new UsageError(`Unknown option ${option}.`);
  return args;
}

async function subsOf(store: Store, usernames: string[]): Promise<string[]> {
  const keys = await store.userBatches.keys(usernames);
  const users = await store.userBatches.lock(usernames);
  return keys.map((key, place) => {
    const user = users.get(key);
    if (!user) throw notFound(`there is no user ${usernames[place]}`);
    return user.sub;
  });
}

export const groupCommands: Record<string, Command> = {
  'group list': {
    usage: '[TEXT]',
    summary:
      'Lists groups with how many members they have; with a text, those with words in name or description that begin so.',
    async run(config, args) {
      const words = args.join(' ');
      const groups = await withDatabase(config, ({ store }) => store.groups.list({ limit: 10_000, words }));
      return {
        json: groups.map(groupView),
        text: table(
          ['NAME', 'MEMBERS', 'DESCRIPTION'],
          groups.map((group) => [group.name, String(group.members), group.description]),
        ),
      };
    },
  },
  'group create': {
    usage: 'NAME [--description TEXT]',
    summary: 'Makes a group.',
    async run(config, args) {
      const { values, positionals } = parse(args, { description: { type: 'string', default: '' } }, ['NAME']);
      const description = groupDescription.safeParse(values.description);
      if (!description.success) throw invalidRequest(firstRefusal(description.error, 'the description'));
      const group = await withDatabase(config, ({ administration }) =>
        administration.createGroup(by, nameOf(positionals[0]!), description.data),
      );
      return { json: groupView(group), text: `The group ${group.name} is made.` };
    },
  },
  'group rename': {
    usage: 'NAME NEW_NAME [--into-existing]',
    summary: 'Renames a group, for all its members; with --into-existing it joins a group that there is.',
    async run(config, args) {
      const { values, positionals } = parse(args, { 'into-existing': { type: 'boolean', default: false } }, [
        'NAME',
        'NEW_NAME',
      ]);
      const [name, to] = [positionals[0]!, nameOf(positionals[1]!)];
      if (name === to) throw invalidRequest('the group has this name');
      const { moved } = await withDatabase(config, ({ administration }) =>
        administration.changeGroup(by, name, { name: to }, { gradual: true, into: values['into-existing'] }),
      );
      return { json: { group: to, changed: moved }, text: `The group is now called ${to}: ${moved} members.` };
    },
  },
  'group delete': {
    usage: 'NAME',
    summary: 'Deletes a group: nobody is in it any more.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME']);
      const name = positionals[0]!;
      const left = await withDatabase(config, ({ administration }) => administration.deleteGroup(by, name, true));
      return { json: { group: name, changed: left }, text: `The group ${name} is deleted; it had ${left} members.` };
    },
  },
  'group add': members('add'),
  'group remove': members('remove'),
};
