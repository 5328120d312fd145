// Adds the rules of attributes to their creation, change and deletion: for their type, and for the values of users.
import { attributes } from '../../entities/attributes.ts';
import { conflict, invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Store } from '../../repositories/store.ts';
import { fitsType, maxAttributes } from '../../rules/claims/attributes.ts';
import { entityAdministration } from './entities.ts';
import { refuseOpenedNameId } from './saml-application.ts';

export const attributeAdministration = (store: Store) =>
  entityAdministration(store, attributes, {
    repository: (repositories) => repositories.attributes,
    taken: refusal('attribute.exists', 'name', { most: String(maxAttributes) }),
    facts: ({ name, type }, act) => ({ detail: { attribute: name, ...(act === 'created' && { type }) } }),
    async check(repositories, after, members) {
      if (!fitsType(after)) throw invalidRequest(refusal('attribute-type', after.unique ? 'unique' : 'choices'));
      if (members.includes('person') && after.person === 'write') await refuseOpenedNameId(repositories, after.name);
    },
    async stored(repositories, { name, unique }, members) {
      if (members.includes('unique') && !(await repositories.attributes.makeUnique(name, unique)))
        throw conflict(refusal('attribute.shared', 'unique'));
    },
    removing: (repositories, { name }) => repositories.attributes.deleteValues(name),
  });
