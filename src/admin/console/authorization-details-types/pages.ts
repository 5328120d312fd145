// Serves the console's pages about types of authorization details: those of every entity.
import { authorizationDetailsTypes } from '../../../entities/authorization-details-types.ts';
import { authorizationDetailsTypeActs } from '../../operations/authorization-details-types.ts';
import { entityPages } from '../entity-pages.ts';

export const authorizationDetailsTypePages = entityPages(authorizationDetailsTypes, authorizationDetailsTypeActs);
