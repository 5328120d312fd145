// Adds the rules of types of authorization details to their creation and change: a schema that can be checked, sentences of its members, resources that exist.
import { authorizationDetailsTypes } from '../../entities/authorization-details-types.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Store } from '../../repositories/store.ts';
import { templateFault } from '../../rules/details/consent-text.ts';
import { schemaFault } from '../../rules/details/schema.ts';
import { entityAdministration } from './entities.ts';
import { requireResources } from './exchange-policies.ts';

export const authorizationDetailsTypeAdministration = (store: Store, issuer: string) =>
  entityAdministration(store, authorizationDetailsTypes, {
    repository: (repositories) => repositories.authorizationDetailsTypes,
    taken: refusal('authorization-details-type.taken', 'type'),
    facts: ({ type }) => ({ detail: { authorization_details_type: type } }),
    async check(repositories, { schema, text, resources }, members) {
      const place = schemaFault(schema);
      if (place !== undefined) throw invalidRequest(refusal('detail-schema', 'schema', { place: place.slice(0, 200) }));
      // a change of the schema may leave a sentence without its member
      for (const template of Object.values(text)) {
        const unknown = templateFault(template, schema);
        if (unknown !== undefined)
          throw invalidRequest(refusal('detail-placeholder', 'text', { unknown: unknown.slice(0, 100) }));
      }
      if (members.includes('resources')) await requireResources(repositories, issuer, resources);
    },
  });
