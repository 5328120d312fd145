// Writes docs/reference.md from the code: settings, addresses, error codes, events, commands. Usage: node scripts/reference.ts
// test/docs.test.ts generates it again and compares, so that a change of the code also changes the page.
import { writeFileSync } from 'node:fs';
import { z } from 'zod';
import { ownEndpoints, standardEndpoints } from '../src/protocol/protocol.ts';
import { commands, madeOf } from '../src/command-line/index.ts';
import { settings } from '../src/config.ts';
import { settingGroups } from '../src/config/setting-descriptions.ts';
import { fileNouns } from '../src/admin/operations/config/nouns.ts';
import { membersOf } from '../src/entities/entity.ts';
import { adminRoutes } from '../src/admin/api/routes.ts';
import { errorMeanings } from '../src/oauth/error-meanings.ts';
import { errorCodes } from '../src/oauth/errors.ts';
import { auditEventTypes, type AuditEventType } from '../src/repositories/audit/audit-events.ts';
import { tokenIssued } from '../src/repositories/audit/audit-view.ts';

/** The purpose of each address; the admin routes describe themselves. A test compares this with the routes of a running service. */
const addresses: Record<string, string> = {
  'GET /.well-known/openid-configuration': 'The capabilities of the service (OpenID Connect Discovery 1.0)',
  'GET /openapi.json': 'The OpenAPI document of the admin routes, without a token; unless `OPENAPI=off`',
  'GET /.well-known/webfinger': 'The issuer for users of WEBFINGER_DOMAINS (RFC 7033)',
  'GET /.well-known/oauth-protected-resource': 'The metadata of the service as a protected resource (RFC 9728)',
  'GET /.well-known/oauth-protected-resource/user/info': 'The metadata of UserInfo as a protected resource',
  'GET /.well-known/oauth-protected-resource/admin/api': 'The metadata of the admin routes as a protected resource',
  'GET /.well-known/oauth-authorization-server':
    'The OAuth metadata of the service, with the addresses that only this service has (RFC 8414)',
  'GET /jwks': 'The public keys that verify ID Tokens (RFC 7517)',
  'GET /authorize': 'Begins a sign-in (OpenID Connect Core 3.1.2)',
  'POST /authorize': 'Begins a sign-in with the parameters of a form',
  'GET /authenticate': 'Begins a sign-in with `client_id`, `redirect_uri` and the client’s default scopes',
  'POST /authenticate': 'The form of the page “Continue to …”, which a request from another site gets',
  'POST /device_authorization':
    'Gives a device without a browser a code that its user enters, if `DEVICE_GRANT=on`. Else the answer is 404 (RFC 8628)',
  'POST /bc-authorize':
    'Asks a user who answers in the account, if `CIBA=on`. Else the answer is 404 (OpenID Connect CIBA)',
  'GET /device':
    'The page on which a signed-in user enters the code of a device, and sees what its application requests',
  'POST /device': 'Approves or denies the request of a device',
  'POST /par': 'Accepts an authorization request before the browser sends it (RFC 9126)',
  'GET /login': 'The sign-in page',
  'POST /login': 'Submits the sign-in form',
  'POST /login/cancel': 'Ends the sign-in, and answers the client with access_denied',
  'POST /login/passkey': 'Signs in with a passkey',
  'GET /login/second-factor': 'The page that asks for a second factor',
  'POST /login/second-factor': 'Submits the code of an authenticator, or a recovery code',
  'GET /login/authenticator': 'Sets up the first second factor of a user who needs one to continue',
  'POST /login/authenticator': 'Submits the first code of the new authenticator',
  'GET /consent': 'The consent page',
  'POST /consent': 'Submits the decision about consent',
  'GET /error': 'The error page',
  'GET /errors': 'What each error code means: the page to which `error_uri` leads (RFC 6749 5.2)',
  'POST /language': 'Shows a page that no link can open, such as the answer to a form, in another language',
  'GET /saml/metadata': 'The metadata of the service as a SAML identity provider (SAML Metadata 2.4.3)',
  'GET /saml/sso': 'Takes an AuthnRequest of a SAML application by redirect (SAML Bindings 3.4)',
  'POST /saml/sso': 'The same, by a form (SAML Bindings 3.5)',
  'GET /saml/start/:client_id': 'Signs the user in to a SAML application that allows it without a request',
  'GET /saml/logout': 'Takes a signed LogoutRequest of a SAML application by redirect (SAML Profiles 4.4)',
  'POST /saml/logout': 'The same, by a form',
  'GET /forward-auth/nginx':
    'Where nginx asks about each request to a protected site, with `X-Original-URL` and `X-Original-Method`',
  'GET /forward-auth/traefik': 'The same for Traefik, with its headers `X-Forwarded-…`',
  'GET /forward-auth/caddy': 'The same for Caddy, with its headers `X-Forwarded-…`',
  'GET /forward-auth/envoy/*': 'The same for Envoy, with every method and the path of the request',
  'GET /forward-auth/expired': 'Tells a user that a sign-in to a protected site has expired',
  'GET /forward-auth/signed-out': 'The page after the sign-out of a protected site, which links to `/logout`',
  'GET /.gatehouse/callback':
    'At the host of a protected site: receives the code of a sign-in, and sets the cookie of the site',
  'GET /.gatehouse/sign-out': 'At the host of a protected site: ends the session of the site',
  'GET /access-denied': 'The page for a user who may not use a client, or whom the client did not admit',
  'POST /access-denied': 'Returns to the client, which gets `access_denied`',
  'GET /account': 'The account page, which links to the other pages of the account',
  'GET /account/start': 'The applications that the user may use, each with a link to its start address',
  'GET /account/profile': 'The stored data about the user, with the applications that may see them',
  'GET /account/profile/edit': 'The page on which users change the claims of this data that `PROFILE_EDITABLE` names',
  'POST /account/profile/edit': 'Saves these claims',
  'GET /account/profile/picture':
    'The page on which users upload or remove their picture, unless `PROFILE_PICTURES` is off',
  'POST /account/profile/picture': 'Uploads or removes the picture',
  'GET /account/security': 'The ways to sign in, each with its page',
  'GET /account/sessions': 'The sessions of the user',
  'POST /account/sessions': 'Names a browser, or ends one session',
  'POST /account/other-sessions': 'Ends all sessions except this one',
  'POST /account/all-sessions': 'Ends all sessions, including this one',
  'GET /account/applications': 'The applications with access',
  'POST /account': 'Revokes the access of one application',
  'GET /account/requests': 'The backchannel requests of applications that wait for the user, if `CIBA=on`',
  'POST /account/requests': 'Allows or denies one of them',
  'POST /account/requests/deny': 'Denies all that the page showed',
  'GET /account/delete': 'The page on which users delete their account, where `ACCOUNT_DELETION` allows it',
  'POST /account/delete': 'Deletes the account',
  'GET /account/data': 'The page on which users download their data or delete their account',
  'GET /account/password': 'The page on which users change the password',
  'POST /account/password': 'Changes the password',
  'GET /account/email': 'The page on which users change the email address of the account, after a recent sign-in',
  'POST /account/email': 'Mails a link to the new address',
  'POST /account/email/verification': 'Mails a link to the current address',
  'GET /account/email/confirm': 'The target of a link that confirms an address. Opening the link does not use it up',
  'POST /account/email/confirm': 'Confirms the address, and uses the link up',
  'GET /account/email/stop':
    'The target of the link with which the previous address stops a change. Opening the link changes nothing',
  'POST /account/email/stop': 'Stops the change of the address',
  'GET /password/forgotten': 'The page on which users request a link to choose a new password',
  'POST /password/forgotten': 'Mails the link. The answer is the same whether the account exists or not',
  'GET /password/reset': 'The target of a link to choose a new password. Opening the link does not use it up',
  'POST /password/reset': 'Sets the password, uses the link up, and signs the user in',
  'GET /login/email': 'The page that sends a code by email, if `EMAIL_SIGN_IN=on`. Else the answer is 404',
  'POST /login/email': 'Mails the code',
  'GET /login/email/code': 'The page that asks for the code',
  'POST /login/email/code': 'Signs in with the code',
  'GET /login/accounts': 'The page on which users choose an account of this browser',
  'POST /login/accounts': 'Continues with an account, or removes one',
  'GET /sign-up': 'The page on which users request an account, if `SIGN_UP=on`. Else the answer is 404',
  'POST /sign-up': 'Mails a link. The answer is the same whether the address has an account or not',
  'GET /sign-up/complete': 'The target of the mailed link',
  'POST /sign-up/complete': 'Creates the account, and signs the user in',
  'GET /invitation': 'The target of an invitation. Opening the link does not use it up',
  'POST /invitation': 'Sets a password or adds a passkey, and signs the user in',
  'POST /connections/:id': 'Begins a sign-in with a connection from a button of the sign-in page',
  'GET /connections/:id': 'Begins a sign-in for the authorization request of this browser that `transaction` names',
  'GET /sign-up/link':
    'The page of a sign-up link, also with `SIGN_UP=off`. If the link does not work, the answer is 410',
  'POST /sign-up/link': 'Mails a link. The answer is the same whether the address has an account or not',
  'GET /sign-up/link/complete': 'The target of the link that a user of a sign-up link gets by mail',
  'POST /sign-up/link/complete': 'Creates the account in the groups of the sign-up link, and signs the user in',
  'GET /connections/:id/callback': 'The redirect URI of a connection, which receives the answer of the provider',
  'POST /connections/:id/callback': 'Receives an answer that a page of the provider posts',
  'GET /connections/:id/continue': 'Continues with a posted answer in the browser that began the sign-in',
  'POST /connections/:id/backchannel-logout':
    'Receives the notification of a provider that a session there has ended (OpenID Connect Back-Channel Logout)',
  'GET /connections/:id/frontchannel-logout':
    'Receives this notification in a frame of a page of the provider (OpenID Connect Front-Channel Logout)',
  'GET /connections/:id/signed-out': 'The address to which a browser returns after a logout at a provider',
  'GET /connections/:id/saml/metadata':
    'The metadata of this service for the identity provider of a connection by SAML',
  'POST /connections/:id/saml/acs': 'Receives the answer of an identity provider (SAML Profiles 4.1.4)',
  'GET /connections/:id/saml/logout':
    'Receives a LogoutRequest, or the answer to one, by HTTP-Redirect (SAML Profiles 4.4)',
  'POST /connections/:id/saml/logout': 'Receives a LogoutRequest, or the answer to one, by HTTP-POST',
  'GET /connections/:id/jwks': 'The public key with which this service authenticates at the provider',
  'POST /login/user': 'Submits the user name or address, if domains lead to connections',
  'GET /login/connect': 'The page on which users prove that an account is theirs, to connect it',
  'POST /login/connect': 'Connects the account',
  'GET /login/directory': 'Signs in the user whose password a directory has verified',
  'GET /login/name': 'The page that asks for the user name of a new account',
  'POST /login/name': 'Creates the account with this user name',
  'GET /account/connections': 'The page with the user’s links to connections',
  'POST /account/connections': 'Adds or removes a link to a connection',
  'GET /account/passkeys': 'The page with the user’s passkeys',
  'POST /account/passkeys': 'Adds a passkey',
  'POST /account/passkeys/rename': 'Renames a passkey',
  'POST /account/passkeys/remove': 'Removes a passkey',
  'GET /account/second-factors': 'The page on which users see their second factors, and remove one',
  'POST /account/second-factors':
    'Removes a second factor. Like the two addresses below, it needs a sign-in of the last 15 minutes',
  'GET /account/authenticator': 'The page on which users set up an authenticator (RFC 6238)',
  'POST /account/authenticator': 'Adds the authenticator',
  'POST /account/recovery-codes': 'Creates new recovery codes, which are shown once',
  'POST /account/data': 'Downloads the stored data about the user',
  'GET /': 'Redirects to the account page',
  'POST /token': 'Issues tokens for a code, a refresh token or client credentials (RFC 6749)',
  'POST /revoke': 'Revokes a token (RFC 7009)',
  'POST /revoke-user':
    'Ends all sessions and tokens of a user, for a client with the scope `revoke.global` (draft-ietf-oauth-global-token-revocation)',
  'POST /introspect': 'The state and the claims of a token (RFC 7662)',
  'GET /user/info': 'The claims of the End-User for an access token (OpenID Connect Core 5.3)',
  'POST /user/info': 'The claims of the End-User, if `USERINFO_POST=true`. Else the answer is 405',
  'GET /user/:sub/address': 'The End-User’s address',
  'GET /user/:sub/info': 'The claims of the End-User that the scopes of the grant allow',
  'POST /user/:sub/info': 'The claims of the End-User that the scopes of the grant allow',
  'GET /user/:sub/scope': 'The End-User’s groups. Only a Bearer token is accepted',
  'GET /user/:sub/connections/:id/token':
    'A stored access token of a user’s connection, with the scope `upstream_token`, for clients that may read it',
  'GET /user/:sub/settings': 'The settings that the client stores for the End-User',
  'PUT /user/:sub/settings': 'Sets some of these settings. `null` removes one',
  'GET /logout': 'Asks the End-User whether to sign out (OpenID Connect RP-Initiated Logout 1.0)',
  'POST /logout': 'Asks in the same way for parameters of a form, or submits the answer of the End-User',
  'GET /logout/ended': 'Leads to the post-logout redirect URI after a sign-out, once it is verified again',
  'GET /end-session': 'Ends the client’s own session with a signed request, without a page',
  'GET /check-session':
    'The page that relying parties frame to detect a changed sign-in (OpenID Connect Session Management 1.0)',
  'POST /register': 'Registers a client, repeats its registration (RFC 7591), or polls for a deferred one',
  'GET /register/:clientId': 'Reads a registration (RFC 7592)',
  'PUT /register/:clientId': 'Replaces the metadata of a registration',
  'DELETE /register/:clientId': 'Deletes a registration',
  'GET /admin': 'The console, for administrators',
  'GET /admin/callback': 'The redirect URI of the console’s own sign-in',
  'GET /admin/try-it': 'The console’s page that tests a client with a real code flow',
  'POST /admin/try-it/redirect-uri': 'Adds the callback to the client’s redirect URIs, or removes it',
  'POST /admin/try-it/begin': 'Begins the flow',
  'GET /admin/try-it/callback': 'Receives the response of the flow',
  'POST /admin/try-it/redeem': 'Redeems the code with the client’s secret',
  'GET /admin/connections': 'The connections in the console',
  'GET /admin/connections/new': 'Asks where the users of a new connection sign in',
  'GET /admin/connections/new/:type': 'A form for a new connection',
  'POST /admin/connections/new/:type': 'Creates a connection',
  'GET /admin/connections/:id': 'A connection, with the redirect URI to enter at the provider',
  'GET /admin/connections/:id/edit': 'A form with the settings of a connection. The secret is never shown',
  'POST /admin/connections/:id/edit': 'Changes a connection',
  'POST /admin/connections/:id/metadata':
    'Reads the metadata of the identity provider of a connection by SAML, or accepts what it has published',
  'GET /admin/connections/:id/delete':
    'Asks for confirmation to delete a connection, and shows how many users have no other way to sign in',
  'POST /admin/connections/:id/delete': 'Deletes a connection with its links',
  'GET /admin/connections/:id/rules/:member/new':
    'A form for a new rule for groups or claims: its kind, then its fields',
  'POST /admin/connections/:id/rules/:member/new': 'Adds a rule',
  'GET /admin/connections/:id/rules/:member/:rule': 'A form with a rule',
  'POST /admin/connections/:id/rules/:member/:rule': 'Changes a rule',
  'POST /admin/connections/:id/rules/:member': 'Removes a rule of a connection, or moves it up',
  'GET /admin/connections/:id/word-confirmations':
    'Lists the accounts in the domains of a connection whose address only another system confirmed',
  'POST /admin/connections/:id/word-confirmations': 'Marks these addresses as not verified',
  'GET /admin/connections/new/directory': 'A form for a new connection to a directory',
  'POST /admin/connections/new/directory': 'Creates a connection to a directory',
  'GET /admin/connections/:id/directory': 'A connection to a directory, with its test and its last import',
  'GET /admin/connections/:id/directory/edit':
    'A form with the settings of a connection to a directory. The password of the service account is never shown',
  'POST /admin/connections/:id/directory/edit': 'Changes a connection to a directory',
  'POST /admin/connections/:id/directory/test': 'Tests a connection to a directory, and shows the first problem',
  'POST /admin/connections/:id/directory/import': 'Starts an import, or approves one that is held',
  'GET /admin/sessions': 'The sessions of all users, by user or address',
  'POST /admin/sessions': 'Ends a session',
  'GET /admin/sessions/end': 'Asks for confirmation to end all sessions of a user',
  'POST /admin/sessions/end': 'Ends all sessions of a user',
  'GET /admin/keys': 'The signing keys, and the keys that encrypt at rest',
  'GET /admin/keys/rotate': 'Asks for the algorithms that get new signing keys',
  'POST /admin/keys/rotate': 'Creates signing keys',
  'POST /admin/keys/saml': 'Creates, activates and deletes keys of the SAML identity provider',
  'GET /admin/keys/withdraw': 'Asks for confirmation to withdraw a signing key at once',
  'POST /admin/keys/withdraw': 'Withdraws a signing key',
  'GET /admin/audit': 'The audit trail, with its filters',
  'GET /admin/audit/:id': 'One event of the audit trail',
  'POST /admin/audit/export': 'The events that match a filter, as CSV or JSON Lines',
  'GET /admin/clients': 'The clients in the console, filtered by `q`, `status` and `registered`',
  'GET /admin/clients/waiting':
    'Pending registrations and changes, with the details that an administrator needs to decide',
  'POST /admin/clients/decide': 'Approves or refuses the selected registrations and changes',
  'GET /admin/clients/new': 'The kinds of client that can be created',
  'GET /admin/clients/new/:kind': 'A form for a new client of this kind',
  'POST /admin/clients/new/:kind': 'Creates a client, and shows its secret once, with examples for the application',
  'GET /admin/clients/:id': 'A client, its sessions and grants, and its events',
  'POST /admin/clients/:id/look-alikes': 'Dismisses the warning that another client has a similar name',
  'GET /admin/clients/:id/edit': 'A form with all registered metadata of a client',
  'POST /admin/clients/:id/edit': 'Changes a client',
  'GET /admin/clients/:id/secrets': 'Asks which secrets of a client to replace',
  'POST /admin/clients/:id/secrets': 'Replaces these secrets, and shows the new ones once',
  'GET /admin/clients/:id/disable': 'The consequences of disabling a client',
  'POST /admin/clients/:id/disable': 'Disables a client',
  'GET /admin/clients/:id/delete': 'The consequences of deleting a client',
  'POST /admin/clients/:id/delete': 'Deletes a client, if its name was typed',
  'GET /admin/users': 'The console’s search of users',
  'GET /admin/users/:sub': 'One user, with the possible operations',
  'POST /admin/users/:sub': 'Performs an operation on a user',
  'GET /admin/users/import': 'A form that imports users from a file',
  'POST /admin/users/import': 'Checks such a file, or imports it',
  'GET /admin/users/import/:id': 'The progress and the result of an import',
  'GET /admin/users/export': 'Selects the users to export',
  'POST /admin/users/export': 'Exports these users, as CSV or JSON Lines',
  'GET /admin/users/new': 'A form that creates a user',
  'POST /admin/users/new': 'Creates the user, with an invitation or with a password',
  'GET /admin/users/:sub/disable': 'The consequences of disabling a user',
  'POST /admin/users/:sub/disable': 'Disables the user',
  'GET /admin/users/:sub/make-admin': 'Asks for the name of the user who becomes an administrator',
  'POST /admin/users/:sub/make-admin': 'Makes the user an administrator, if the user name was typed',
  'GET /admin/users/:sub/no-admin': 'The consequences of removing the administrator role',
  'POST /admin/users/:sub/no-admin': 'Removes the administrator role',
  'GET /admin/users/:sub/edit': 'A form with the stored data of a user',
  'POST /admin/users/:sub/edit': 'Changes the stored data of a user',
  'GET /admin/users/:sub/image': 'The picture of a user',
  'POST /admin/users/:sub/image': 'Uploads or removes the picture',
  'GET /admin/clients/:id/image': 'The logo of a client',
  'POST /admin/clients/:id/image': 'Uploads or removes the logo',
  'GET /admin/connections/:id/image': 'The logo of a connection',
  'POST /admin/connections/:id/image': 'Uploads or removes the logo',
  'GET /admin/users/:sub/password': 'Ways to help a user who cannot sign in',
  'POST /admin/users/:sub/password': 'Creates a link with which a user chooses a password, or sets a password',
  'GET /admin/users/:sub/connections': 'The connections of a user, and the emergency access',
  'POST /admin/users/:sub/connections': 'Removes a connection of a user, or gives or removes the emergency access',
  'GET /admin/users/:sub/second-factors/remove': 'The consequences of removing second factors of a user',
  'POST /admin/users/:sub/second-factors/remove': 'Removes second factors of a user',
  'GET /admin/users/:sub/delete': 'The consequences of deleting a user',
  'POST /admin/users/:sub/delete': 'Deletes a user, if the user name was typed',
  'POST /admin/checklist/backup':
    'Records that the administrator confirmed in the checklist of the overview that backups are made',
  'GET /admin/appearance': 'The name, the logos, the icon, the accent color and the support link, with a preview',
  'POST /admin/appearance': 'Previews or saves the appearance',
  'GET /admin/settings': 'Every setting with its value and its source, except secrets',
  'POST /admin/settings/test-mail': 'Sends a test email to the signed-in administrator',
  'GET /admin/take-over': 'The consequences of taking over an object that configuration files manage',
  'POST /admin/take-over': 'Takes over an object, if its name was typed',
  'GET /admin/pick/:noun':
    'At most ten users, groups, clients or other objects whose name matches, as JSON for a field that offers them',
  'GET /admin/users/:sub/access': 'Whether the user may use a client now, with every reason if not',
  'GET /admin/why/:reference': 'The cause of an error page by its reference, and what would happen now',
  'GET /admin/search': 'The users, clients and groups that match the search field of the top bar',
  'GET /admin/attributes': 'The console’s list of attributes of users',
  'GET /admin/attributes/new': 'A form for a new attribute',
  'POST /admin/attributes/new': 'Creates an attribute',
  'GET /admin/attributes/:attribute': 'A form with the members of an attribute',
  'POST /admin/attributes/:attribute': 'Changes an attribute',
  'GET /admin/attributes/:attribute/delete': 'The consequences of deleting an attribute',
  'POST /admin/attributes/:attribute/delete': 'Deletes an attribute with the values of all users',
  'GET /admin/scopes': 'The console’s list of scopes for claims',
  'GET /admin/scopes/new': 'A form for a new scope',
  'POST /admin/scopes/new': 'Creates a scope',
  'GET /admin/scopes/:scope': 'A form with the members of a scope',
  'POST /admin/scopes/:scope': 'Changes a scope',
  'GET /admin/scopes/:scope/delete': 'The consequences of deleting a scope',
  'POST /admin/scopes/:scope/delete': 'Deletes a scope',
  'GET /admin/clients/:id/claims':
    'The claims that a client gets: roles, scopes for claims, rules, and a preview for a user',
  'POST /admin/clients/:id/claims': 'Changes these roles, scopes and rules',
  'GET /admin/webhooks': 'The console’s list of webhooks',
  'GET /admin/webhooks/new': 'A form for a new webhook',
  'POST /admin/webhooks/new': 'Creates a webhook, and shows its secret once',
  'GET /admin/webhooks/:webhook': 'One webhook with its data, its secrets, and its last deliveries and their answers',
  'GET /admin/webhooks/:webhook/edit': 'A form with the members of a webhook',
  'POST /admin/webhooks/:webhook/edit': 'Changes a webhook',
  'GET /admin/webhooks/:webhook/delete': 'The consequences of deleting a webhook',
  'POST /admin/webhooks/:webhook/delete': 'Deletes a webhook',
  'POST /admin/webhooks/:webhook/secrets': 'Creates a second secret of a webhook, and shows it once',
  'POST /admin/webhooks/:webhook/secrets/remove': 'Removes one of two secrets of a webhook',
  'POST /admin/webhooks/:webhook/replay': 'Sends the message about an event again',
  'GET /admin/authorization-details-types': 'The console’s list of types of authorization details',
  'GET /admin/authorization-details-types/new': 'A form for a new type of authorization details',
  'POST /admin/authorization-details-types/new': 'Creates a type of authorization details',
  'GET /admin/authorization-details-types/:authorization_details_type':
    'A form with the members of a type of authorization details',
  'POST /admin/authorization-details-types/:authorization_details_type': 'Changes a type of authorization details',
  'GET /admin/authorization-details-types/:authorization_details_type/delete':
    'The consequences of deleting a type of authorization details',
  'POST /admin/authorization-details-types/:authorization_details_type/delete':
    'Deletes a type of authorization details',
  'GET /admin/exchange-policies': 'The console’s list of exchange policies',
  'GET /admin/exchange-policies/new': 'A form for a new exchange policy',
  'POST /admin/exchange-policies/new': 'Creates an exchange policy',
  'GET /admin/exchange-policies/:exchange_policy': 'A form with the members of an exchange policy',
  'POST /admin/exchange-policies/:exchange_policy': 'Changes an exchange policy',
  'GET /admin/exchange-policies/:exchange_policy/delete': 'The consequences of deleting an exchange policy',
  'POST /admin/exchange-policies/:exchange_policy/delete': 'Deletes an exchange policy',
  'GET /admin/provisioning-targets': 'The console’s list of provisioning targets',
  'GET /admin/provisioning-targets/new': 'A form for a new provisioning target',
  'POST /admin/provisioning-targets/new': 'Creates a provisioning target',
  'GET /admin/provisioning-targets/:provisioning_target':
    'One provisioning target with its state and counts, and what it last heard of each user',
  'GET /admin/provisioning-targets/:provisioning_target/edit': 'A form with the members of a provisioning target',
  'POST /admin/provisioning-targets/:provisioning_target/edit': 'Changes a provisioning target',
  'GET /admin/provisioning-targets/:provisioning_target/delete': 'The consequences of deleting a provisioning target',
  'POST /admin/provisioning-targets/:provisioning_target/delete': 'Deletes a provisioning target',
  'POST /admin/provisioning-targets/:provisioning_target/approve': 'Approves what a held provisioning target would get',
  'POST /admin/provisioning-targets/:provisioning_target/reconcile': 'Compares all users with a provisioning target',
  'GET /admin/trusted-issuers': 'The console’s list of trusted issuers',
  'GET /admin/trusted-issuers/new': 'A form for a new trusted issuer',
  'POST /admin/trusted-issuers/new': 'Creates a trusted issuer',
  'GET /admin/trusted-issuers/:trusted_issuer': 'A form with the members of a trusted issuer',
  'POST /admin/trusted-issuers/:trusted_issuer': 'Changes a trusted issuer',
  'GET /admin/trusted-issuers/:trusted_issuer/delete': 'The consequences of deleting a trusted issuer',
  'POST /admin/trusted-issuers/:trusted_issuer/delete': 'Deletes a trusted issuer',
  'GET /admin/connected-servers': 'The console’s list of connected servers',
  'GET /admin/connected-servers/new': 'A form for a new connected server',
  'POST /admin/connected-servers/new': 'Creates a connected server',
  'GET /admin/connected-servers/:connected_server': 'A form with the members of a connected server',
  'POST /admin/connected-servers/:connected_server': 'Changes a connected server',
  'GET /admin/connected-servers/:connected_server/delete': 'The consequences of deleting a connected server',
  'POST /admin/connected-servers/:connected_server/delete': 'Deletes a connected server',
  'GET /admin/scim-sources': 'The console’s list of SCIM sources',
  'GET /admin/scim-sources/new': 'A form for a new SCIM source',
  'POST /admin/scim-sources/new': 'Creates a SCIM source',
  'GET /admin/scim-sources/:scim_source': 'One SCIM source: its address, its data and its tokens',
  'GET /admin/scim-sources/:scim_source/edit': 'A form with the members of a SCIM source',
  'POST /admin/scim-sources/:scim_source/edit': 'Changes a SCIM source',
  'GET /admin/scim-sources/:scim_source/delete': 'The consequences of deleting a SCIM source',
  'POST /admin/scim-sources/:scim_source/delete': 'Deletes a SCIM source',
  'POST /admin/scim-sources/:scim_source/tokens': 'Creates a token of a SCIM source, and shows it once',
  'POST /admin/scim-sources/:scim_source/tokens/remove': 'Deletes a token of a SCIM source',
  'GET /scim/v2/:source/ServiceProviderConfig':
    'What the SCIM server can do (RFC 7644 4), for a request with a token of the source',
  'GET /scim/v2/:source/ResourceTypes': 'The kinds of resources',
  'GET /scim/v2/:source/ResourceTypes/:id': 'One kind of resource',
  'GET /scim/v2/:source/Schemas': 'The schemas of users and groups',
  'GET /scim/v2/:source/Schemas/:id': 'One schema',
  'POST /scim/v2/:source/.search': 'Finds users and groups of the source (RFC 7644 3.4.3)',
  'GET /scim/v2/:source/Users': 'Finds users of the source, by filter and page',
  'POST /scim/v2/:source/Users': 'Creates a user',
  'POST /scim/v2/:source/Users/.search': 'Finds users as GET does, with the parameters in the body',
  'GET /scim/v2/:source/Users/:id': 'One user',
  'PUT /scim/v2/:source/Users/:id': 'Replaces a user',
  'PATCH /scim/v2/:source/Users/:id': 'Changes a user (RFC 7644 3.5.2)',
  'DELETE /scim/v2/:source/Users/:id': 'Deletes a user',
  'GET /scim/v2/:source/:unknown': 'Any other address of a source: 404 in the form of SCIM',
  'GET /scim/v2/:source/Groups': 'Finds groups of the source, by filter and page',
  'POST /scim/v2/:source/Groups': 'Creates a group',
  'POST /scim/v2/:source/Groups/.search': 'Finds groups as GET does, with the parameters in the body',
  'GET /scim/v2/:source/Groups/:id': 'One group',
  'PUT /scim/v2/:source/Groups/:id': 'Replaces a group',
  'PATCH /scim/v2/:source/Groups/:id': 'Changes a group (RFC 7644 3.5.2)',
  'DELETE /scim/v2/:source/Groups/:id': 'Deletes a group',
  'GET /admin/clients/:id/rules/:member/new': 'A form for a new rule for claims: its kind, then its fields',
  'POST /admin/clients/:id/rules/:member/new': 'Adds a rule',
  'GET /admin/clients/:id/rules/:member/:rule': 'A form with a rule',
  'POST /admin/clients/:id/rules/:member/:rule': 'Changes a rule',
  'POST /admin/clients/:id/rules/:member': 'Removes a rule of a client',
  'GET /admin/sign-up-links': 'The console’s list of sign-up links',
  'GET /admin/sign-up-links/new': 'A form for a new sign-up link',
  'POST /admin/sign-up-links/new': 'Creates a sign-up link, and shows it once',
  'GET /admin/sign-up-links/:sign_up_link': 'A form with the members of a sign-up link',
  'POST /admin/sign-up-links/:sign_up_link': 'Changes a sign-up link',
  'GET /admin/sign-up-links/:sign_up_link/delete': 'The consequences of deleting a sign-up link',
  'POST /admin/sign-up-links/:sign_up_link/delete': 'Deletes a sign-up link',
  'GET /admin/resources': 'The console’s list of resources (APIs)',
  'GET /admin/resources/new': 'A form for a new resource',
  'POST /admin/resources/new': 'Creates a resource',
  'GET /admin/resources/:resource': 'One resource: its data, scopes and operations',
  'GET /admin/resources/:resource/edit': 'A form with the members of a resource',
  'POST /admin/resources/:resource/edit': 'Changes a resource',
  'GET /admin/resources/:resource/delete': 'The consequences of deleting a resource',
  'POST /admin/resources/:resource/delete': 'Deletes a resource',
  'GET /admin/groups': 'The console’s list of groups',
  'POST /admin/groups': 'Creates a group',
  'GET /admin/groups/:name': 'One group: its data, members and operations',
  'POST /admin/groups/:name/members': 'Adds users to a group, or removes one',
  'GET /admin/groups/:name/edit': 'A form with the name and description of a group',
  'POST /admin/groups/:name/edit': 'Renames or describes a group',
  'GET /admin/groups/:name/delete': 'The consequences of deleting a group',
  'POST /admin/groups/:name/delete': 'Deletes a group',
  'GET /admin/registration':
    'The page on which an administrator enters a verification code and reviews its registration',
  'POST /admin/registration': 'Approves or refuses the registration',
  'GET /health/live': 'Whether the process answers',
  'GET /health/ready':
    'Whether the process can work, that is, whether the database answers, the first administrator exists, and the process is not stopping',
  'GET /metrics': 'The metrics of an instance in Prometheus’ format. Requires the scope `metrics`',
};

const events: Record<AuditEventType, string> = {
  'user.signed_in': 'A user signed in',
  'user.first_factor_shown':
    'A password was correct, and a second factor is required. If no `user.signed_in` follows, someone else may know the password',
  'user.sign_in_failed': 'A sign-in with a wrong name or password',
  'user.locked_out':
    'The service refused a sign-in without checking the password, because the account is locked after too many failures',
  'user.failures_forgotten': 'An administrator reset the failed sign-ins of a user, who can try again at once',
  'user.signed_out': 'A user signed out',
  'user.created': 'A user was created',
  'user.changed': 'A user was changed. The detail names the members',
  'user.disabled': 'A user was disabled. All sessions and tokens of the user ended',
  'user.deleted': 'A user was deleted',
  'user.password_changed': 'A password was set, perhaps with other members. The detail names them',
  'user.second_factor_added': 'A user set up a second factor. The detail has its kind and its name',
  'user.second_factor_removed': 'A user or an administrator removed a second factor',
  'user.recovery_codes_renewed': 'A user got new recovery codes. The previous ones are no longer valid',
  'user.recovery_code_used': 'A user signed in with a recovery code. The detail says how many are left',
  'user.data_downloaded': 'A user downloaded the stored data about the account',
  'user.signed_up': 'A user created an account (`SIGN_UP=on`)',
  'user.invited': 'An administrator invited a user. The detail says whether by mail',
  'user.invitation_used':
    'A user accepted an invitation. The detail says by which sign-in method, and whether the invitation was mailed',
  'user.invitation_revoked': 'An administrator revoked an invitation',
  'user.email_verified': 'A user proved with a mailed link that the address of the account is theirs',
  'user.email_change_stopped':
    'A change of the address was stopped with the link that was mailed to the previous address',
  'user.email_changed':
    'A user changed the address of the account, and proved with a mailed link that the new one is theirs',
  'users.imported': 'A file of users was imported. Each user has an event of its own',
  'users.exported': 'Users were exported. The detail says whether with password hashes',
  'group.created': 'A group was created',
  'group.changed': 'A group got another description or name',
  'group.deleted': 'A group was deleted',
  'group.guarded': 'A connection named a guarded group, whose members only an administrator can change',
  'user.email_kept': 'A connection sent another address of a user, which the service does not apply',
  'groups.unknown': 'The answer of a connection contained no groups, so the memberships from it stay',
  'scope.created': 'A scope for claims was created',
  'scope.changed': 'A scope for claims was changed. The detail names the members',
  'scope.deleted': 'A scope for claims was deleted',
  'role.created': 'A role of a client was created',
  'role.changed': 'The description of a role of a client was changed',
  'role.deleted': 'A role of a client was deleted and removed from all groups and users',
  'role.given': 'A role of a client was assigned to groups or users',
  'role.taken': 'A role of a client was removed from groups or users',
  'groups.omitted': 'A user has too many groups for an ID Token, so the client gets them from UserInfo',
  'sign_up_link.created': 'A sign-up link was created; the detail names its groups, its domain, its uses and its end',
  'sign_up_link.changed': 'A sign-up link was changed; the detail names the members',
  'sign_up_link.deleted': 'A sign-up link was deleted; the accounts that it created stay',
  'sign_up_link.used': 'A user created an account by a sign-up link; the detail names the groups of the user',
  'attribute.created': 'An attribute of users was created',
  'attribute.changed': 'An attribute was changed. The detail names the members',
  'attribute.deleted': 'An attribute was deleted with the values of all users',
  'connection.created': 'A connection was created',
  'connection.changed': 'A connection was changed. A change of trust has the values before and after',
  'connection.metadata_changed':
    'The identity provider of a connection by SAML publishes other metadata. The pinned keys stay until an administrator accepts the new ones',
  'connection.deleted': 'A connection was deleted, with its links',
  'authorization_details_type.created': 'A type of authorization details was created',
  'authorization_details_type.changed':
    'A type of authorization details was changed. A change of trust has the values before and after',
  'authorization_details_type.deleted': 'A type of authorization details was deleted',
  'exchange_policy.created': 'An exchange policy was created',
  'exchange_policy.changed': 'An exchange policy was changed. A change of trust has the values before and after',
  'exchange_policy.deleted': 'An exchange policy was deleted',
  'token.exchanged':
    'A client got a token in exchange for a token of a user. The detail has the policy, the mode, the client of the presented token, the resource, the scope, the types of authorization details that the new token has, and the clients that act in `actors`',
  'provisioning_target.created': 'A provisioning target was created',
  'provisioning_target.changed': 'A provisioning target was changed. A change of trust has the values before and after',
  'provisioning_target.deleted': 'A provisioning target was deleted. The accounts at the application stay',
  'provisioning_target.held':
    'The service held a provisioning target, because many accounts would end. `leaving` in the detail is their number',
  'provisioning_target.failing':
    'A provisioning target has failed for an hour. Administrators get one mail, and another one only after the target has worked again',
  'provisioning_target.approved': 'An administrator approved what a held provisioning target gets',
  'provisioning_target.reconciled': 'An administrator had all users compared with a provisioning target',
  'trusted_issuer.created': 'A trusted issuer was created',
  'trusted_issuer.changed': 'A trusted issuer was changed. A change of trust has the values before and after',
  'trusted_issuer.deleted': 'A trusted issuer was deleted, and the tokens that its assertions got ended',
  'assertion.accepted':
    'A client got a token for the user of an assertion. The detail has the trusted issuer, the resource and the scope',
  'assertion.replayed': 'An assertion was presented a second time, and refused',
  'connected_server.created': 'A connected server was created',
  'connected_server.changed': 'A connected server was changed. A change of trust has the values before and after',
  'connected_server.deleted': 'A connected server was deleted',
  'id_jag.issued':
    'A client got an ID-JAG about a user. The detail has the connected server, the scope and the resource',
  'scim_source.created': 'A SCIM source was created',
  'scim_source.changed': 'A SCIM source was changed. A change of trust has the values before and after',
  'scim_source.deleted': 'A SCIM source was deleted, with its tokens and the memberships that it gave',
  'scim_token.created': 'A token of a SCIM source was created. `token` in the detail is its id',
  'scim_token.deleted': 'A token of a SCIM source was deleted',
  'import.held': 'An import of a directory would disable many users, and waits for an administrator',
  'import.approved': 'An administrator approved a held import',
  'import.failed': 'An import of a directory failed, and changed nothing',
  'upstream_token.read': 'A client read a stored token of a user’s connection. `connection` in the detail names it',
  'identity.linked': 'An identity of a connection was linked to a user',
  'identity.unlinked': 'The link of a user to a connection was removed',
  'identity.refused': 'An identity of a connection was verified, but not admitted',
  'config.applied': 'Configuration files were applied. `file_set` names them',
  'config.taken_over':
    'An administrator took over an object that configuration files managed. `section`, `key` and `file_set` name it',
  'resource.created': 'A resource (an API) was created',
  'resource.changed': 'A resource was changed. The detail names the members',
  'resource.deleted': 'A resource was deleted',
  'webhook.created': 'A webhook, a receiver of messages about events, was created',
  'webhook.changed': 'A webhook was changed. The detail names the members',
  'webhook.deleted': 'A webhook was deleted, with its undelivered messages',
  'webhook.disabled':
    'The service disabled a webhook because its receiver answered 410 (reason gone), or failed for five days (reason failing)',
  'webhook.replayed': 'An administrator sent the message about an event to a webhook again',
  'consent.granted': 'A user granted scopes to a client',
  'consent.denied': 'A user refused to grant scopes to a client',
  'consent.withdrawn': 'A user, or an administrator for the user, revoked a grant',
  'access.refused':
    'A user could not use a client because of its groups, networks or connections. The user saw a page, and the client got an error',
  'access.lost':
    'A user left the groups of a client, or the client admits fewer: the sessions, codes and tokens of the user for the client ended',
  'device.requested': 'A device asked for a code. The detail has the scopes',
  'device.approved': 'A user entered the code of a device and allowed the request. The detail has the scopes',
  'device.denied': 'A user refused it',
  'backchannel.requested':
    'A client sent a backchannel request. The detail has the scopes. Without a user it reaches no account',
  'backchannel.approved': 'A user allowed a backchannel request in the account. The detail has the scopes',
  'backchannel.denied': 'A user refused it',
  'backchannel.ping_failed':
    'A client got no ping about the answer to its backchannel request. The detail has the number of attempts',
  'client.registered': 'A client registered itself',
  'client.collected': 'A client collected the credentials of an approved registration: it is enabled',
  'client.updated': 'A registration was changed, by its client or an administrator. The detail names the members',
  'client.credentials_renewed': 'A registration was repeated: new secrets replaced the old ones',
  'client.created': 'An administrator created a client',
  'client.approved':
    'An administrator enabled a client or its pending changes, perhaps with a correction. The detail names the members',
  'client.refused': 'An administrator refused a registration or a change. The detail has the reason',
  'client.look_alike_dismissed':
    'An administrator dismissed the warning that two clients have similar names. The detail has both names',
  'client.document_gone': 'The document of a client was missing for a day: users can no longer authorize the client',
  'client.expired': 'A registration that was not approved in time was deleted',
  'client.disabled': 'A client was disabled. All its sessions and tokens ended',
  'client.deleted': 'A client was deleted',
  'client.authentication_failed': 'A client sent wrong credentials',
  'client.certificate_changed':
    'A client authenticated with another certificate than before. The detail has its SHA-256 and its end',
  'code.replayed': 'An authorization code was redeemed a second time. Everything that it issued is revoked',
  'code.misused': 'Another client presented an authorization code',
  'dpop.replayed': 'A DPoP proof was used a second time: the request was refused',
  'code.burned': 'An authorization code failed for the fifth time and has ended. The detail has the reason',
  'refresh_token.reused':
    'A refresh token was used again after it had been replaced or revoked. Its client session has ended',
  'refresh_token.misused': 'Another client presented a refresh token',
  'token.revoked': 'A client revoked a token',
  'session.ended':
    'The user or an administrator ended one or all sessions of the user, another user signed in with the same browser, or the user had too many sessions',
  'client_session.ended': 'A client ended its session by a signed request',
  'logout_token.delivered':
    'A client was notified of the end of a session by back-channel logout, after the first attempt had failed',
  'logout_token.refused': 'A client answered 400 to back-channel logout. The notification is not repeated',
  'logout_token.given_up':
    'A client could not be notified of the end of a session within `BACKCHANNEL_LOGOUT_RETENTION`',
  'keys.rotated': 'New signing keys were created by an administrator, or automatically (actor `schedule`)',
  'keys.withdrawn': 'A signing key was withdrawn at once',
  'saml_key.created': 'A key for SAML applications was created. The detail has its id',
  'saml_key.activated': 'A key for SAML applications signs from now on. The detail has its id',
  'saml_key.deleted': 'A key for SAML applications was withdrawn. The detail has its id',
  'saml_session.ended': 'A SAML application ended the session of a user by a signed logout request',
  'secret_key.reencrypted':
    'Every stored value is encrypted with the first key of `SECRET_KEY`. The detail has its id, the number of values encrypted anew, and the ids of the keys that are no longer needed',
  'registration_token.created': 'An initial access token was created',
  'link.sent': 'A single-use link was mailed. The detail says for what',
  'link.created': 'An administrator created a single-use link for a user',
  'link.used': 'A single-use link was used',
  'mail.given_up': 'A mail could not be sent for a day, or the mail server refused it permanently',
  'mail.tested': 'An administrator sent a test email. A failure has the reason in its detail',
  'backup.confirmed': 'An administrator confirmed that backups are made',
  'backup.noted':
    'The command `backup note` recorded a backup. The detail has the time at which it was made and, of a dump, its size and the ids of the keys that it needs',
  'appearance.changed': 'An administrator changed the appearance of the pages. The detail names the members',
  'audit_events.exported':
    'The audit trail, or the events that match a filter, were exported. The detail names the filter',
  'audit_events.expired':
    'Events older than `AUDIT_RETENTION` were deleted. `rows` is their number, and `before` is the day up to which they were deleted',
};

/** The routes that this page describes, as "METHOD path". */
export const describedRoutes: readonly string[] = [
  ...Object.keys(addresses),
  ...adminRoutes().map((route) => `${route.method} ${route.path}`),
];

/** The whole page. */
export async function reference(): Promise<string> {
  return `# Reference

Made from the code by \`node scripts/reference.ts\`; do not edit it by hand.

- [Settings](#settings)
- [Addresses](#addresses)
- [Admin routes](#admin-routes)
- [Commands](#commands)
- [Configuration files](#configuration-files)
- [Error codes](#error-codes)
- [Events](#events)

## Settings

Settings are environment variables. An empty value counts as unset. With a wrong value the service does not start, and a sentence names the setting.

${settingTables()}

## Addresses

All addresses are below the issuer (\`BASE_URL\`); only in those of protected resources does the path of the issuer come after \`oauth-protected-resource\`, and not before. The last column is the name of the address in the discovery documents. Names that no standard defines are
only in \`/.well-known/oauth-authorization-server\`. The discovery documents, the keys, the health checks and the assets of the pages also answer HEAD; no other address does.

${table(
  ['Address', 'What it does', 'Name'],
  Object.entries(addresses).map(([route, what]) => [code(template(route)), what, nameOf(route)]),
)}

## Admin routes

They need \`Authorization: Bearer\` with an access token with the scope \`admin\`. \`GET /openapi.json\` and \`GET /admin/api/openapi.json\` describe their bodies and answers.

${table(
  ['Route', 'What it does'],
  adminRoutes().map((route) => [code(template(`${route.method} ${route.path}`)), route.summary]),
)}

## Commands

Each command begins with \`bin/gatehouse\` ([in a container, and from another folder](operator.md#settings)), and prints JSON with \`--json\`.

${table(
  ['Command', 'What it does'],
  (await madeOf(commands())).map(([name, { usage, summary }]) => [code(`${name} ${usage}`.trim()), summary]),
)}

## Configuration files

[configuration.md](configuration.md) explains them. Each section is a mapping by the member that its heading names. A secret is \`{env: NAME}\`, \`{file: PATH}\` or \`generate\`.

${configTables()}

## Error codes

Every JSON error has \`error\`, one of these codes, and \`error_description\`, a sentence that says what to do. Authorization responses, and the errors of \`/token\`, \`/par\`, \`/revoke\`, \`/device_authorization\` and \`/bc-authorize\`, also have \`error_uri\`. It leads to the code on the page \`/errors\` of the service, which has the sentences below.

${table(
  ['Code', 'When'],
  errorCodes.map((name) => [code(name), errorMeanings[name]]),
)}

## Events

Each event is a row of the audit trail and a line of the log, with time, outcome, actor, client, subject and address: \`event\`, \`outcome\`, \`actor\`,
\`client_id\`, \`sub\`, \`address\` and \`detail\`. An operation on the command line (actor \`command line\`) or by SQL on clients, users and sessions
(actor \`sql\`, with the \`database_role\` in the detail) has a row, but no line, because no instance of the service performed it. The view of the trail also
has \`${tokenIssued}\`: a code, an access token, a refresh token or a handle that was issued and is still stored; \`detail.kind\` has its kind.

${table(
  ['Event', 'What happened'],
  auditEventTypes.map((type) => [code(type), events[type]]),
)}
`;
}

/** A table for each noun of configuration files, from its declaration. */
function configTables(): string {
  return fileNouns()
    .map(({ section, of, key, isSingle }) => {
      const rows = membersOf(of)
        .filter(([name]) => name !== key)
        .map(([name, { says, start, required, secret, convert }]) => [
          code(name),
          required
            ? 'required'
            : secret
              ? 'a secret'
              : start === undefined || convert
                ? ''
                : code(JSON.stringify(start)),
          says,
        ]);
      return `### ${section}${isSingle ? '' : `, by ${key}`}\n\n${table(['Member', 'Default', 'Meaning'], rows)}`;
    })
    .join('\n\n');
}

/** A table for each part of .env.example, whose comments describe the settings. */
function settingTables(): string {
  return settingGroups()
    .map(({ title, settings: listed }) => {
      const rows = listed.map(({ name, fallback, meaning }) => {
        const values = valuesOf(settings[name as keyof typeof settings]);
        return [code(name), fallback ? code(fallback) : '', values, meaning];
      });
      return `### ${title}\n\n${table(['Setting', 'Default', 'Values', 'Meaning'], rows)}`;
    })
    .join('\n\n');
}

/** The allowed words, or the range of a number; empty where the comment says it. */
function valuesOf(rule: z.ZodType): string {
  const [input, output] = (['input', 'output'] as const).map((io) =>
    z.toJSONSchema(rule, { io, unrepresentable: 'any' }),
  );
  const schema = { ...input, ...output };
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(', ');
  return schema.type === 'integer' ? `${schema.minimum} to ${schema.maximum}` : '';
}

function nameOf(route: string): string {
  const [method, path] = template(route).split(' ');
  // one name for each address: where both methods exist, with GET
  if (method === 'POST' && `GET ${path!.replace(/\{(\w+)\}/g, ':$1')}` in addresses) return '';
  if (method === 'PUT') return '';
  const names = { ...standardEndpoints, ...ownEndpoints };
  const name = Object.entries(names).find(([, address]) => address === path)?.[0];
  return name === undefined ? '' : code(name);
}

function template(route: string): string {
  return route.replace(/:(\w+)/g, '{$1}');
}

function code(text: string): string {
  return `\`${text}\``;
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

if (import.meta.main) writeFileSync(new URL('../docs/reference.md', import.meta.url), await reference());
