// Serves the console's pages about scopes for claims.
import { scopes } from '../../../entities/scopes.ts';
import { scopeActs } from '../../operations/scopes.ts';
import { entityPages } from '../entity-pages.ts';

export const scopePages = entityPages(scopes, scopeActs, { related: ['attributes'] });
