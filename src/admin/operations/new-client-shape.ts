// Declares what a request that creates a client may have beside the metadata: its kind, its settings, and what it had before.
import { clientChangeShape } from '../../entities/client-settings.ts';
import { rule } from '../../oauth/refusals.ts';
import { namesOf, oneOf } from '../../oauth/registrable-values.ts';
import { givenCredentials } from '../../rules/clients/given-credentials.ts';
import { clientKinds } from './client-kinds/kinds.ts';
import { metadataInput } from './saml-metadata.ts';

export const newClientShape = () => {
  const kind = oneOf(clientKinds, rule('one-of', { values: namesOf(clientKinds).join(', ') }));
  return clientChangeShape.extend({
    kind: kind.optional().describe('The kind of client. It decides the defaults of all members that are absent.'),
    ...metadataInput,
    ...givenCredentials,
  });
};
