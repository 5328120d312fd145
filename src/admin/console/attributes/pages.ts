// Serves the console's pages about attributes: data about users that an operator stores beside the standard claims.
import { attributes } from '../../../entities/attributes.ts';
import { attributeActs } from '../../operations/attributes.ts';
import { entityPages } from '../entity-pages.ts';

export const attributePages = entityPages(attributes, attributeActs, { related: ['scopes'] });
