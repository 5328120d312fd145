// Grants a client a token of its own (RFC 6749 section 4.4).
import { z } from 'zod';
import { invalidScope } from '../../../oauth/errors.ts';
import { isScope, isRegistrableScope, isServiceScopeOf, splitScope } from '../../../oauth/scope.ts';
import { text } from '../../../oauth/text.ts';
import { beyondClient, type GrantType } from '../grant-type.ts';

const parameters = z.object({ scope: text(1024).optional() });

export function clientCredentialsGrant(): GrantType<z.infer<typeof parameters>> {
  return {
    name: 'client_credentials',
    asksNetwork: false,
    parameters,
    takesDetails: true,
    authorize({ scope }, { client }) {
      if (scope !== undefined && !isScope(scope))
        return { refusal: invalidScope('scope must be a list of scope values') };
      // the scopes that a client can register itself are about a user, and this grant has no user
      const registered = splitScope(client.metadata.scope).filter(
        (value) => !isRegistrableScope(value) && !Object.hasOwn(client.ownScopes, value),
      );
      const asked = scope === undefined ? registered : splitScope(scope);
      const isOfService = isServiceScopeOf(client);
      if (asked.some((value) => isOfService(value) && !registered.includes(value)))
        return { refusal: invalidScope(beyondClient) };
      return { scope: asked, isScopeNamed: scope !== undefined };
    },
  };
}
