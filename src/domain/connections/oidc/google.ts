// Signs users in with Google accounts. If the connection has domains, only accounts of their organizations may sign in (federation 5).
import { addressOf } from '../../../rules/connections/connection-answer.ts';
import { domainLabel, domainOf, isOfDomains } from '../../../rules/connections/mail-domain.ts';
import { ConnectionFailure, type ConnectionVariant, variantOf } from '../kind.ts';
import { clientId, originOf, scopeSetting } from '../settings.ts';
import { type OidcProfile, profileOf } from './profile.ts';
import { readSettings } from './settings.ts';

/** Domains whose mailboxes are Google accounts. */
const mailboxes = ['gmail.com', 'googlemail.com'];

export function googlePreset(allowed: readonly string[]): ConnectionVariant<OidcProfile> {
  const settings = {
    client_id: clientId,
    scope: scopeSetting('openid profile email'),
    issuer: originOf(['https://accounts.google.com'], allowed),
  };
  return variantOf(settings, {
    starts: { username_from: 'email' },
    profile: ({ client_id, scope, issuer }) => ({
      ...profileOf(readSettings({ issuer, client_id, scope, token_endpoint_auth_method: 'client_secret_post' })),
      userinfo: false,
      // Google has no prompt=login: it can ask for the account instead, and does not state when the user signed in
      parameters: ({ login, loginHint }, { domains }) => ({
        ...(login && { prompt: 'select_account' }),
        ...(loginHint !== undefined && { login_hint: loginHint }),
        ...(domains.length > 0 && { hd: domains.length === 1 ? domains[0]! : '*' }),
      }),
      identify({ idToken, claims, connection: { domains, subdomains } }) {
        const said = idToken['hd'];
        const organization = typeof said === 'string' ? domainLabel(said) : undefined;
        // the parameter of the request only controls the page at Google, and the user can change it
        if (domains.length > 0 && (organization === undefined || !isOfDomains(organization, domains, subdomains)))
          throw new ConnectionFailure('organization', 'hd is none of the domains of the connection');
        const address = addressOf(claims);
        const domain = address && domainOf(address.value);
        const isOwn =
          organization !== undefined && domain !== undefined && isOfDomains(domain, [organization], subdomains);
        // a Google account keeps any other address after its owner has lost it
        const isConfirmed = isOwn || (domain !== undefined && mailboxes.includes(domain));
        return { issuer, subject: idToken.sub, address: address && { ...address, isForeign: !isOwn, isConfirmed } };
      },
    }),
  });
}
