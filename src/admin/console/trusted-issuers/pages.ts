// Serves the console's pages about trusted issuers: those of every entity.
import { trustedIssuers } from '../../../entities/trusted-issuers.ts';
import { trustedIssuerActs } from '../../operations/trusted-issuers.ts';
import { entityPages } from '../entity-pages.ts';

export const trustedIssuerPages = entityPages(trustedIssuers, trustedIssuerActs, {
  known: ({ issuer }) => issuer,
});
