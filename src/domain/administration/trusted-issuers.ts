// Adds the rules of trusted issuers to their creation and change: another issuer, one source of keys, and resources that exist.
import { trustedIssuers } from '../../entities/trusted-issuers.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { isValidKey } from '../../oauth/json-web-key.ts';
import { isAtIssuer } from '../../oauth/own-resource.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Store } from '../../repositories/store.ts';
import { entityAdministration } from './entities.ts';
import { requireResources } from './exchange-policies.ts';

export const trustedIssuerAdministration = (store: Store, issuer: string) =>
  entityAdministration(store, trustedIssuers, {
    repository: (repositories) => repositories.trustedIssuers,
    taken: refusal('trusted-issuer.taken', 'issuer'),
    facts: ({ name, issuer: named }, act) => ({
      detail: { trusted_issuer: name, ...(act === 'created' && { issuer: named }) },
    }),
    // the change holds the row, which each statement that issues a token locks as well: no token comes after this
    async stored({ trustedIssuers: issuers }, { id, status }) {
      if (status === 'disabled') await issuers.endTokens(id);
      return undefined;
    },
    removing: ({ trustedIssuers: issuers }, { id }) => issuers.endTokens(id),
    async check(repositories, after, members) {
      const { jwks, jwksUri, subject, emailDomains, resources } = after;
      // an assertion of our own would be a token of another kind (security R138)
      if (isAtIssuer(issuer, after.issuer)) throw invalidRequest(refusal('trusted-issuer.own', 'issuer'));
      if ((jwks === undefined) === (jwksUri === undefined))
        throw invalidRequest(refusal('trusted-issuer.keys', jwks === undefined ? 'jwks_uri' : 'jwks'));
      if (jwks && !jwks.keys.every(isValidKey)) throw invalidRequest(refusal('key.set', 'jwks'));
      // the user of an ID-JAG is linked by issuer and subject
      if (after.kind === 'id_jag' && subject !== 'linked')
        throw invalidRequest(refusal('trusted-issuer.linked', 'subject'));
      if (subject === 'email' && emailDomains.length === 0)
        throw invalidRequest(refusal('trusted-issuer.domains', 'email_domains'));
      if (members.includes('resources')) await requireResources(repositories, issuer, resources);
    },
  });
