// Lists the nouns of configuration files, in the order in which a file is applied: each comes after those that it names.
import { attributes } from '../../../entities/attributes.ts';
import { resources } from '../../../entities/resources.ts';
import { scopes } from '../../../entities/scopes.ts';
import { groups } from '../../../entities/groups.ts';
import { attributeActs } from '../attributes.ts';
import { changeGroup, createGroup, deleteGroup, listGroups } from '../groups.ts';
import { resourceActs } from '../resources.ts';
import { scopeActs } from '../scopes.ts';
import { appearanceNoun } from './appearance-noun.ts';
import { clientNoun } from './client-noun.ts';
import { connectionNoun } from './connection-noun.ts';
import { entityNoun, type FileNoun, kernelActs, mostListed, reader } from './noun.ts';

/** A line for each. A noun of the kernel needs its declaration and its operations alone. */
export const fileNouns: FileNoun[] = [
  entityNoun(attributes, kernelActs(attributeActs)),
  entityNoun(scopes, kernelActs(scopeActs)),
  connectionNoun,
  entityNoun(
    groups,
    {
      async list(context) {
        const input = { limit: mostListed, cursor: undefined, q: undefined };
        return (await listGroups.handler(context, { params: {}, input, actor: reader })).groups;
      },
      create: createGroup,
      change: changeGroup,
      remove: deleteGroup,
    },
    {
      param: 'name',
      async effects({ store }, { key }, change): Promise<Record<string, number>> {
        return change ? {} : { members: (await store.groups.find(key))?.members ?? 0 };
      },
    },
  ),
  entityNoun(resources, kernelActs(resourceActs), {
    // the resources of a client that no administrator has changed follow from its metadata
    isForeign: (one) => (one as { registered: boolean }).registered,
  }),
  clientNoun,
  appearanceNoun,
];
