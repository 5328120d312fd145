// Collects what an administrator sees of a registration: the facts for the review, and every registered member.
import type { RegistrationFacts } from '../../pages/views/index.ts';
import { alike, heldBy, hostFacts, waitingAddresses } from '../client-review.ts';
import type { ReviewLookup } from '../operations/pages/client-reviews.ts';
import { displayName } from '../../oauth/client-metadata.ts';
import { splitScope } from '../../oauth/scope.ts';
import type { Client } from '../../repositories/clients/clients.ts';

/** @param address the network address that sent the registration */
export function registrationFacts(
  client: Client,
  address: string | undefined,
  lookup: ReviewLookup,
): RegistrationFacts {
  const { metadata } = client;
  const facts: RegistrationFacts = {
    name: displayName(client.clientId, metadata),
    hosts: hostFacts(metadata.redirect_uris, [], lookup),
    lookAlikes: alike(client, lookup),
    heldResources: heldBy(client, lookup),
    redirectUris: metadata.redirect_uris,
    waitingAddresses: waitingAddresses(client),
    responseTypes: metadata.response_types,
    grantTypes: metadata.grant_types,
    scopes: splitScope(metadata.scope),
    authenticationMethod: metadata.token_endpoint_auth_method,
    keys: (metadata.jwks?.keys ?? []).map(({ kty, alg, kid }) => [kty, alg, kid].filter(isText).join(' ')),
    umaProfile: metadata.uma_profile,
    contacts: metadata.contacts ?? [],
    uris: (['client_uri', 'policy_uri', 'tos_uri', 'logo_uri', 'jwks_uri'] as const).flatMap((member) => {
      const uri = metadata[member];
      return uri === undefined ? [] : [{ member, uri }];
    }),
    registeredAt: client.createdAt,
    members: Object.entries(metadata).map(([member, value]) => ({
      member,
      value: typeof value === 'string' ? value : JSON.stringify(value),
    })),
  };
  if (address !== undefined) facts.address = address;
  return facts;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
