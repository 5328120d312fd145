// Serves the console's pages about exchange policies: those of every entity.
import { exchangePolicies } from '../../../entities/exchange-policies.ts';
import { exchangePolicyActs } from '../../operations/exchange-policies.ts';
import { entityPages } from '../entity-pages.ts';

export const exchangePolicyPages = entityPages(exchangePolicies, exchangePolicyActs, {
  known: ({ clientId }) => clientId,
});
