// Serves the console's pages about attributes: what an operator stores about users beside the standard claims.
import { attributes } from '../../../entities/attributes.ts';
import { attributeActs } from '../../operations/attributes.ts';
import { entityPages } from '../entity-pages.ts';

export const attributePages = entityPages(attributes, attributeActs, { related: ['scopes'] });
