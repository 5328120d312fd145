// Says how groups stand in configuration files: without their members.
import { groups } from '../../../entities/groups.ts';
import { changeGroup, createGroup, deleteGroup, listGroups, showGroup } from '../groups.ts';
import { groupPage } from '../pages/groups.ts';
import { entityNoun, mostListed, reader } from './noun.ts';

export const groupNoun = entityNoun(
  groups,
  {
    async list(context) {
      const input = { limit: mostListed, cursor: undefined, q: undefined };
      return (await listGroups.handler(context, { params: {}, input, actor: reader })).groups;
    },
    find: ({ store }, name) => store.groups.find(name),
    create: createGroup,
    change: changeGroup,
    remove: deleteGroup,
    shows: [showGroup, groupPage],
  },
  {
    param: 'name',
    async effects({ store }, { key }, change): Promise<Record<string, number>> {
      if (change) return {};
      const { users, ...ended } = await store.planEffects.ofGroup(key);
      return { members: (await store.groups.find(key))?.members ?? 0, users_who_lose_a_client: users, ...ended };
    },
  },
);
