// Writes docs/reference.md from the code: settings, addresses, error codes, events, commands. Usage: node scripts/reference.ts
// test/docs.test.ts generates it again and compares, so that a change of the code also changes the page.
import { writeFileSync } from 'node:fs';
import { z } from 'zod';
import { ownEndpoints, standardEndpoints } from '../src/protocol/protocol.ts';
import { commands } from '../src/command-line/index.ts';
import { settings } from '../src/config.ts';
import { settingGroups } from '../src/config/setting-descriptions.ts';
import { fileNouns } from '../src/admin/operations/config/nouns.ts';
import { membersOf } from '../src/entities/entity.ts';
import { adminRoutes } from '../src/admin/api/routes.ts';
import { errorCodes, type ErrorCode } from '../src/oauth/errors.ts';
import { auditEventTypes, type AuditEventType } from '../src/repositories/audit/audit-events.ts';
import { tokenIssued } from '../src/repositories/audit/audit-view.ts';

/** The purpose of each address; the admin routes describe themselves. A test compares this with the routes of a running service. */
const addresses: Record<string, string> = {
  'GET /.well-known/openid-configuration': 'The capabilities of the service (OpenID Connect Discovery 1.0)',
  'GET /.well-known/oauth-protected-resource': 'The metadata of the service as a protected resource (RFC 9728)',
  'GET /.well-known/oauth-protected-resource/user/info': 'The same of UserInfo',
  'GET /.well-known/oauth-protected-resource/admin/api': 'The same of the admin routes',
  'GET /.well-known/oauth-authorization-server': 'The same, and the addresses that only this service has (RFC 8414)',
  'GET /jwks': 'The public keys that verify ID Tokens (RFC 7517)',
  'GET /authorize': 'Begins a sign-in (OpenID Connect Core 3.1.2)',
  'POST /authorize': 'The same with a form',
  'GET /authenticate': 'The short form of a sign-in: `client_id` and `redirect_uri`, with the client’s default scopes',
  'POST /authenticate': 'The form of the page “Continue to …”, which a request from another site gets',
  'POST /device_authorization':
    'Gives a device without a browser a code that its user enters, where `DEVICE_GRANT=on`; else 404 (RFC 8628)',
  'GET /device':
    'The page on which a signed-in user enters the code of a device, and sees what its application asks for',
  'POST /device': 'The decision about it',
  'POST /par': 'Accepts an authorization request before the browser brings it (RFC 9126)',
  'GET /login': 'The sign-in page',
  'POST /login': 'Its form',
  'POST /login/cancel': 'Ends the sign-in, and answers the client with access_denied',
  'POST /login/passkey': 'The same with a passkey',
  'GET /login/second-factor': 'The second step of a sign-in: a code of an authenticator, or a recovery code',
  'POST /login/second-factor': 'Its form',
  'GET /login/authenticator': 'Sets up the first second factor of a user who needs one to continue',
  'POST /login/authenticator': 'Its form',
  'GET /consent': 'The consent page',
  'POST /consent': 'Its form',
  'GET /error': 'The error page',
  'GET /access-denied': 'The page for a user who may not use a client, or whom the client did not admit',
  'POST /access-denied': 'The return to the client, which gets `access_denied`',
  'GET /account': 'The account page, which links to the other pages of the account',
  'GET /account/start': 'The applications that the user may use, each with a link to where it begins',
  'GET /account/profile': 'The stored data about the user, with the applications that may see them',
  'GET /account/profile/edit': 'The page on which users change the claims of this data that `PROFILE_EDITABLE` names',
  'POST /account/profile/edit': 'Its form',
  'GET /account/security': 'The ways to sign in, each with its page',
  'GET /account/sessions': 'The sessions of the user',
  'POST /account/sessions': 'Its form that ends one session',
  'POST /account/other-sessions': 'Its form that ends all sessions but this one',
  'POST /account/all-sessions': 'Its form that ends all sessions, this one too',
  'GET /account/applications': 'The applications with access',
  'POST /account': 'Its form that revokes the access of one application',
  'GET /account/delete': 'The page on which users delete their account, where `ACCOUNT_DELETION` allows it',
  'POST /account/delete': 'Its form',
  'GET /account/data': 'The page on which users download their data or delete their account',
  'GET /account/password': 'The page on which users change the password',
  'POST /account/password': 'Its form',
  'GET /account/email': 'The page on which users change the email address of the account, after a recent sign-in',
  'POST /account/email': 'Its form: a link goes to the new address',
  'POST /account/email/verification': 'The form that mails a link to the current address',
  'GET /account/email/confirm': 'The target of such a link; opening it does not use it up',
  'POST /account/email/confirm': 'Its form, which uses the link up',
  'GET /account/email/stop':
    'The target of the link with which the previous address stops a change; opening it changes nothing',
  'POST /account/email/stop': 'Its form, which stops it',
  'GET /password/forgotten': 'The page on which users request a link to choose a new password',
  'POST /password/forgotten': 'Its form; the answer is the same whether the account exists or not',
  'GET /password/reset': 'The target of such a link; opening it does not use it up',
  'POST /password/reset': 'Its form, which uses the link up and signs the user in',
  'GET /login/accounts': 'The page on which users choose an account of this browser',
  'POST /login/accounts': 'Its form, which continues with an account, or removes one',
  'GET /sign-up': 'The page on which users request an account, where `SIGN_UP=on`; else 404',
  'POST /sign-up': 'Its form; the answer is the same whether the address has an account or not',
  'GET /sign-up/complete': 'The target of the mailed link',
  'POST /sign-up/complete': 'Its form, which creates the account and signs the user in',
  'GET /invitation': 'The target of an invitation; opening it does not use it up',
  'POST /invitation': 'Its form, which sets a password or adds a passkey, and signs the user in',
  'POST /connections/:id': 'Begins a sign-in by a connection: a button of the sign-in page',
  'GET /connections/:id': 'Begins one for the authorization request of this browser that `transaction` names',
  'GET /connections/:id/callback': 'Where a connection’s answer arrives: its redirect URI',
  'POST /connections/:id/callback': 'The same for an answer that a page of the other side posts',
  'GET /connections/:id/continue': 'Takes a posted answer in the browser that asked for it',
  'POST /connections/:id/backchannel-logout':
    'Where a connection says that a session there has ended (OpenID Connect Back-Channel Logout)',
  'GET /connections/:id/frontchannel-logout': 'The same by a frame of its page (OpenID Connect Front-Channel Logout)',
  'GET /connections/:id/signed-out': 'Where a browser comes back from a logout at a connection',
  'GET /connections/:id/jwks': 'The key by which this service authenticates at the other side',
  'POST /login/user': 'The form of the name, where domains lead to connections',
  'GET /login/connect': 'The page that asks for proof of an account, to connect it',
  'POST /login/connect': 'Its form',
  'GET /login/directory': 'Signs in the user whose password a directory has verified',
  'GET /login/name': 'The page that asks for the user name of a new account',
  'POST /login/name': 'Its form',
  'GET /account/connections': 'The page with the user’s links to connections',
  'POST /account/connections': 'Its form that adds and removes one',
  'GET /account/passkeys': 'The page with the user’s passkeys',
  'POST /account/passkeys': 'Its form that adds one',
  'POST /account/passkeys/rename': 'Its form that renames one',
  'POST /account/passkeys/remove': 'Its form that removes one',
  'GET /account/second-factors': 'The page on which users see their second factors, and remove one',
  'POST /account/second-factors':
    'Its form, which needs a sign-in of the last 15 minutes, as do the two addresses below',
  'GET /account/authenticator': 'The page on which users set up an authenticator (RFC 6238)',
  'POST /account/authenticator': 'Its form',
  'POST /account/recovery-codes': 'Creates new recovery codes, which are shown once',
  'POST /account/data': 'Its form that downloads the stored data about the user',
  'GET /': 'Redirects to the account page',
  'POST /token': 'Tokens for a code, a refresh token or client credentials (RFC 6749)',
  'POST /revoke': 'Ends a token (RFC 7009)',
  'POST /introspect': 'The state and the claims of a token (RFC 7662)',
  'GET /user/info': 'The claims of the End-User for an access token (OpenID Connect Core 5.3)',
  'POST /user/info': 'The same, where `USERINFO_POST=true`; else 405',
  'GET /user/:sub/address': 'The End-User’s address',
  'GET /user/:sub/info': 'The claims of the End-User that the scopes of the grant allow',
  'POST /user/:sub/info': 'The same',
  'GET /user/:sub/scope': 'The End-User’s groups; by Bearer token only',
  'GET /user/:sub/connections/:id/token':
    'A stored access token of a user’s connection, with the scope `upstream_token`, for clients that may read it',
  'GET /user/:sub/settings': 'The settings that the client stores for the End-User',
  'PUT /user/:sub/settings': 'Sets some of these settings; `null` removes one',
  'GET /logout': 'Asks the End-User whether to sign out (OpenID Connect RP-Initiated Logout 1.0)',
  'POST /logout': 'The same with a form, and the answer',
  'GET /logout/ended': 'Leads to the post-logout redirect URI after a sign-out, once it is verified again',
  'GET /end-session': 'Ends the client’s own session with a signed request, without a page',
  'GET /check-session':
    'The page that relying parties frame to detect a changed sign-in (OpenID Connect Session Management 1.0)',
  'POST /register': 'Registers a client, repeats its registration (RFC 7591), or polls for a deferred one',
  'GET /register/:clientId': 'Reads a registration (RFC 7592)',
  'PUT /register/:clientId': 'Replaces its metadata',
  'DELETE /register/:clientId': 'Deletes it',
  'GET /admin': 'The console, for administrators',
  'GET /admin/callback': 'The redirect URI of the console’s own sign-in',
  'GET /admin/try-it': 'The console’s page that tests a client with a real code flow',
  'POST /admin/try-it/redirect-uri': 'Its form that adds the callback to the client’s redirect URIs, or removes it',
  'POST /admin/try-it/begin': 'Its form that begins the flow',
  'GET /admin/try-it/callback': 'Receives the response of the flow',
  'POST /admin/try-it/redeem': 'Its form that redeems the code with the client’s secret',
  'GET /admin/connections': 'The connections in the console',
  'GET /admin/connections/new': 'Asks where the people of a new connection sign in',
  'GET /admin/connections/new/:type': 'A form for a new connection',
  'POST /admin/connections/new/:type': 'Creates it',
  'GET /admin/connections/:id': 'A connection, with the redirect URI to enter at the other side',
  'GET /admin/connections/:id/edit': 'A form with its settings; the secret is never shown',
  'POST /admin/connections/:id/edit': 'Changes it',
  'GET /admin/connections/:id/delete': 'Asks for confirmation to delete it, and says who has no other way to sign in',
  'POST /admin/connections/:id/delete': 'Deletes it with its links',
  'GET /admin/connections/:id/word-confirmations':
    'Lists the accounts in its domains whose address only another system confirmed',
  'POST /admin/connections/:id/word-confirmations': 'Marks these addresses as not verified',
  'GET /admin/connections/new/directory': 'A form for a new connection to a directory',
  'POST /admin/connections/new/directory': 'Creates it',
  'GET /admin/connections/:id/directory': 'A connection to a directory, with its test and its last import',
  'GET /admin/connections/:id/directory/edit':
    'A form with its settings; the password of the service account is never shown',
  'POST /admin/connections/:id/directory/edit': 'Changes it',
  'POST /admin/connections/:id/directory/test': 'Tests it, and says what is wrong',
  'POST /admin/connections/:id/directory/import': 'Starts an import, or approves one that is held',
  'GET /admin/sessions': 'The sessions of all users, by user or address',
  'POST /admin/sessions': 'Ends one of them',
  'GET /admin/sessions/end': 'Asks for confirmation to end all sessions of a user',
  'POST /admin/sessions/end': 'Ends them',
  'GET /admin/keys': 'The signing keys, and the keys that encrypt at rest',
  'GET /admin/keys/rotate': 'Asks for the algorithms that get new signing keys',
  'POST /admin/keys/rotate': 'Creates them',
  'GET /admin/keys/withdraw': 'Asks for confirmation to withdraw a signing key at once',
  'POST /admin/keys/withdraw': 'Withdraws it',
  'GET /admin/audit': 'The audit trail, with its filters',
  'GET /admin/audit/:id': 'One event of the trail',
  'POST /admin/audit/export': 'The events that match a filter, as CSV or JSON Lines',
  'GET /admin/clients': 'The clients in the console, filtered by `q`, `status` and `registered`',
  'GET /admin/clients/waiting': 'Pending registrations and changes, with what an administrator needs to decide',
  'POST /admin/clients/decide': 'Approves or refuses the selected ones',
  'GET /admin/clients/new': 'The kinds of client that can be created',
  'GET /admin/clients/new/:kind': 'A form for a new client of this kind',
  'POST /admin/clients/new/:kind': 'Creates it, and shows its secret once, with examples for the application',
  'GET /admin/clients/:id': 'A client, its sessions and grants, and its events',
  'POST /admin/clients/:id/look-alikes': 'Dismisses the warning that another client has a similar name',
  'GET /admin/clients/:id/edit': 'A form with all its registered metadata',
  'POST /admin/clients/:id/edit': 'Saves it',
  'GET /admin/clients/:id/secrets': 'Asks which of its secrets to replace',
  'POST /admin/clients/:id/secrets': 'Replaces them, and shows them once',
  'GET /admin/clients/:id/disable': 'The consequences of disabling it',
  'POST /admin/clients/:id/disable': 'Disables it',
  'GET /admin/clients/:id/delete': 'The consequences of deleting it',
  'POST /admin/clients/:id/delete': 'Deletes it, if its name was typed',
  'GET /admin/users': 'The console’s search of users',
  'GET /admin/users/:sub': 'One user, with the possible operations',
  'POST /admin/users/:sub': 'Performs an operation on a user',
  'GET /admin/users/import': 'A form that imports users from a file',
  'POST /admin/users/import': 'The check of such a file, and its import',
  'GET /admin/users/import/:id': 'The progress and the result of an import',
  'GET /admin/users/export': 'Selects the users to export',
  'POST /admin/users/export': 'These users, as CSV or JSON Lines',
  'GET /admin/users/new': 'A form that creates a user',
  'POST /admin/users/new': 'Creates the user, with an invitation or with a password',
  'GET /admin/users/:sub/disable': 'The consequences of disabling a user',
  'POST /admin/users/:sub/disable': 'Disables the user',
  'GET /admin/users/:sub/make-admin': 'Asks for the name of the user who becomes an administrator',
  'POST /admin/users/:sub/make-admin': 'Makes the user an administrator, if the user name was typed',
  'GET /admin/users/:sub/no-admin': 'The consequences of removing the administrator role',
  'POST /admin/users/:sub/no-admin': 'Removes the administrator role',
  'GET /admin/users/:sub/edit': 'A form with the stored data of a user',
  'POST /admin/users/:sub/edit': 'Saves it',
  'GET /admin/users/:sub/password': 'Ways to help a user who cannot sign in',
  'POST /admin/users/:sub/password': 'Creates a link with which a user chooses a password, or sets a password',
  'GET /admin/users/:sub/connections': 'The connections of a user, and the emergency access',
  'POST /admin/users/:sub/connections': 'Removes one, or gives or takes that access',
  'GET /admin/users/:sub/second-factors/remove': 'The consequences of removing second factors of a user',
  'POST /admin/users/:sub/second-factors/remove': 'Removes them',
  'GET /admin/users/:sub/delete': 'The consequences of deleting a user',
  'POST /admin/users/:sub/delete': 'Deletes a user, if the user name was typed',
  'GET /admin/appearance': 'The name, the logos, the icon, the accent color and the support link, with a preview',
  'POST /admin/appearance': 'Its form, which previews or saves them',
  'GET /admin/settings': 'Every setting with its value and its source, except secrets',
  'POST /admin/settings/test-mail': 'Its form that sends a test email to the signed-in administrator',
  'GET /admin/search': 'The users, clients and groups that match the search field of the top bar',
  'GET /admin/attributes': 'The console’s list of attributes of users',
  'GET /admin/attributes/new': 'A form for a new attribute',
  'POST /admin/attributes/new': 'Defines an attribute',
  'GET /admin/attributes/:attribute': 'A form with the members of an attribute',
  'POST /admin/attributes/:attribute': 'Changes it',
  'GET /admin/attributes/:attribute/delete': 'Says what the deletion of an attribute ends',
  'POST /admin/attributes/:attribute/delete': 'Deletes it with the values of all users',
  'GET /admin/scopes': 'The console’s list of scopes for claims',
  'GET /admin/scopes/new': 'A form for a new scope',
  'POST /admin/scopes/new': 'Defines a scope',
  'GET /admin/scopes/:scope': 'A form with the members of a scope',
  'POST /admin/scopes/:scope': 'Changes it',
  'GET /admin/scopes/:scope/delete': 'Says what the deletion of a scope ends',
  'POST /admin/scopes/:scope/delete': 'Deletes it',
  'GET /admin/clients/:id/claims':
    'What a client learns of users: roles, scopes for claims, rules, and a preview for a user',
  'POST /admin/clients/:id/claims': 'Its forms',
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
  'POST /admin/registration': 'The decision about it',
  'GET /health/live': 'Whether the process answers',
  'GET /health/ready':
    'Whether it can work: the database answers, the first administrator exists, and it is not stopping',
  'GET /metrics': 'The metrics of an instance, in Prometheus’ format; needs the scope `metrics`',
};

const errors: Record<ErrorCode, string> = {
  invalid_request: 'A parameter is missing, repeated, too long or not valid; the sentence names it (RFC 6749)',
  invalid_client: 'The client did not authenticate, or did not sign the request (RFC 6749)',
  invalid_grant: 'The code or refresh token is unknown, used or expired, or belongs to another client (RFC 6749)',
  unauthorized_client: 'The client is not enabled, or may not use this grant or response type (RFC 6749)',
  unsupported_grant_type: 'There is no such grant type (RFC 6749)',
  invalid_scope: 'A scope is unknown or not registered for the client (RFC 6749)',
  access_denied: 'The End-User refused, or the client may not know this End-User (RFC 6749)',
  unsupported_response_type: 'The client did not register this response type (RFC 6749)',
  server_error: 'An error occurred in the service; its log has the reference that the sentence shows (RFC 6749)',
  temporarily_unavailable:
    'The database does not answer, or a limit is reached: retry after `Retry-After`, or after a minute where a redirect has no such header (RFC 6749)',
  invalid_token: 'The token is unknown, expired, revoked or malformed (RFC 6750)',
  insufficient_scope: 'The token is valid, but lacks the required scope (RFC 6750)',
  insufficient_user_authentication:
    'The token of a user is valid, but the sign-in is too old for this: send an authorization request with `max_age` (RFC 9470)',
  interaction_required: '`prompt=none`, but a page would have to be shown (OpenID Connect Core)',
  login_required: '`prompt=none`, but no user is signed in (OpenID Connect Core)',
  consent_required: '`prompt=none`, but the user has not consented (OpenID Connect Core)',
  unmet_authentication_requirements:
    'No sign-in reaches the `acr` that the request calls essential (OpenID Connect Core)',
  request_not_supported:
    'The request object is not signed, and the service accepts only signed ones (OpenID Connect Core)',
  request_uri_not_supported: 'The same for a request object by reference (OpenID Connect Core)',
  invalid_request_uri: '`request_uri` is not registered, or its address returns no request object (RFC 9101)',
  invalid_request_object: 'The request object cannot be verified, or contradicts the parameters outside it (RFC 9101)',
  registration_not_supported: 'The parameter `registration` is not supported (OpenID Connect Core)',
  invalid_redirect_uri: 'A redirect URI cannot be registered (RFC 7591)',
  invalid_client_metadata: 'Another member of a registration is not valid (RFC 7591)',
  authorization_pending: 'The user of a device has not decided yet: poll again after the interval (RFC 8628)',
  slow_down:
    'The poll of a device came too soon: wait five seconds longer between polls from now on. Or the registration is still pending, and the poll came too soon: wait `Retry-After` seconds between two polls from now on (RFC 8628)',
  expired_token:
    'The codes of a device have expired. Or no administrator decided on the registration in time, or the client did not collect its credentials: register again (RFC 8628)',
  invalid_registration:
    'The registration code is unknown or used: register again (draft-dellaert-oauth-approval-based-dcr)',
  unsupported_token_type: 'There is no such `token_type_hint`, or this endpoint does not support it (RFC 7009)',
  invalid_dpop_proof:
    'The DPoP proof is missing, not valid, too old, for another request or already used; the sentence says which (RFC 9449)',
  use_dpop_nonce: 'Repeat the request with a new DPoP proof that has the nonce of the header `DPoP-Nonce` (RFC 9449)',
  invalid_target:
    'The parameter `resource` names no resource that is open to the client, or several where one token is issued (RFC 8707)',
  not_found: 'There is no page at this address, or no object of this name',
  conflict: 'The object changed since it was read, or the name is taken',
};

const events: Record<AuditEventType, string> = {
  'user.signed_in': 'A user signed in',
  'user.first_factor_shown':
    'A password was correct, and a second factor is required; if no `user.signed_in` follows, someone else may know the password',
  'user.sign_in_failed': 'A sign-in with a wrong name or password',
  'user.locked_out':
    'The service refused a sign-in without checking the password, because the account is locked after too many failures',
  'user.failures_forgotten': 'An administrator reset the failed sign-ins of a user, who can try again at once',
  'user.signed_out': 'A user signed out',
  'user.created': 'A user was created',
  'user.changed': 'A user was changed; the detail names the members',
  'user.disabled': 'A user was disabled; all sessions and tokens of the user ended',
  'user.deleted': 'A user was deleted',
  'user.password_changed': 'A password was set, perhaps with other members; the detail names them',
  'user.second_factor_added': 'A user set up a second factor; the detail has its kind and its name',
  'user.second_factor_removed': 'A user or an administrator removed a second factor',
  'user.recovery_codes_renewed': 'A user got new recovery codes; the previous ones are no longer valid',
  'user.recovery_code_used': 'A user signed in with a recovery code; the detail says how many are left',
  'user.data_downloaded': 'A user downloaded the stored data about the account',
  'user.signed_up': 'A user created an account (`SIGN_UP=on`)',
  'user.invited': 'An administrator invited a user; the detail says whether by mail',
  'user.invitation_used':
    'A user accepted an invitation; the detail says by which sign-in method, and whether the invitation was mailed',
  'user.invitation_revoked': 'An administrator revoked an invitation',
  'user.email_verified': 'A user proved with a mailed link that the address of the account is theirs',
  'user.email_change_stopped':
    'A change of the address was stopped with the link that was mailed to the previous address',
  'user.email_changed':
    'A user changed the address of the account, and proved with a mailed link that the new one is theirs',
  'users.imported': 'A file of users was imported; each user has an event of its own',
  'users.exported': 'Users were exported; the detail says whether with password hashes',
  'group.created': 'A group was created',
  'group.changed': 'A group got another description or name',
  'group.deleted': 'A group was deleted',
  'group.guarded': 'A connection named a guarded group, whose members only an administrator changes',
  'user.email_kept': 'A connection says another address of a user, which the service does not apply',
  'groups.unknown': 'The answer of a connection said nothing about groups, so the memberships that it gave stay',
  'scope.created': 'A scope for claims was defined',
  'scope.changed': 'A scope for claims was changed; the detail names the members',
  'scope.deleted': 'A scope for claims was deleted',
  'role.created': 'A role of a client was defined',
  'role.changed': 'The description of a role of a client was changed',
  'role.deleted': 'A role of a client was deleted, and nothing has it any more',
  'role.given': 'A role of a client was given to groups or users',
  'role.taken': 'A role of a client was taken from groups or users',
  'groups.omitted': 'A user has too many groups for an ID Token, so the client gets them from UserInfo',
  'attribute.created': 'An attribute of users was defined',
  'attribute.changed': 'An attribute was changed; the detail names the members',
  'attribute.deleted': 'An attribute was deleted with the values of all users',
  'connection.created': 'A connection was created',
  'connection.changed': 'A connection was changed; a change of trust has the values before and after',
  'connection.deleted': 'A connection was deleted, with its links',
  'import.held': 'An import of a directory would disable many users, and waits for an administrator',
  'import.approved': 'An administrator let a held import go on',
  'import.failed': 'An import of a directory failed, and changed nothing',
  'upstream_token.read': 'A client read a stored token of a user’s connection; `connection` in the detail names it',
  'identity.linked': 'An identity of a connection was linked to a user',
  'identity.unlinked': 'The link of a user to a connection was removed',
  'identity.refused': 'An identity of a connection was verified, but not admitted',
  'config.applied': 'Configuration files were applied; `file_set` names them',
  'resource.created': 'A resource (an API) was created',
  'resource.changed': 'A resource was changed; the detail names the members',
  'resource.deleted': 'A resource was deleted',
  'consent.granted': 'A user granted scopes to a client',
  'consent.denied': 'A user refused to grant scopes to a client',
  'consent.withdrawn': 'A user, or an administrator for the user, revoked a grant',
  'access.refused':
    'A user who may not use a client read that, and the client was told; the groups, the networks or the connections of the client do not admit the user',
  'access.lost':
    'A user left the groups of a client, or the client admits fewer: the sessions, codes and tokens of the user for the client ended',
  'device.requested': 'A device asked for a code; the detail has the scopes',
  'device.approved': 'A user entered the code of a device and allowed the request; the detail has the scopes',
  'device.denied': 'A user refused it',
  'client.registered': 'A client registered itself',
  'client.collected': 'A client collected the credentials of an approved registration: it is enabled',
  'client.updated': 'A registration was changed, by its client or an administrator; the detail names the members',
  'client.credentials_renewed': 'A registration was repeated: new secrets replaced the old ones',
  'client.created': 'An administrator created a client',
  'client.approved':
    'An administrator enabled a client or its pending changes, perhaps with a correction; the detail names the members',
  'client.refused': 'An administrator refused a registration or a change; the detail has the reason',
  'client.look_alike_dismissed':
    'An administrator dismissed the warning that two clients have similar names; the detail has both names',
  'client.document_gone': 'The document of a client was missing for a day: users can no longer authorize the client',
  'client.expired': 'A registration that was not approved in time was deleted',
  'client.disabled': 'A client was disabled; all its sessions and tokens ended',
  'client.deleted': 'A client was deleted',
  'client.authentication_failed': 'A client sent wrong credentials',
  'code.replayed': 'An authorization code was redeemed a second time; everything that it issued is revoked',
  'code.misused': 'Another client presented an authorization code',
  'dpop.replayed': 'A DPoP proof was used a second time: the request was refused',
  'code.burned': 'An authorization code failed for the fifth time and has ended; the detail has the reason',
  'refresh_token.reused':
    'A refresh token was used again after it had been replaced or revoked; its client session has ended',
  'refresh_token.misused': 'Another client presented a refresh token',
  'token.revoked': 'A client revoked a token',
  'session.ended':
    'The user or an administrator ended one or all sessions of the user, another user signed in with the same browser, or the user had too many sessions',
  'client_session.ended': 'A client ended its session by a signed request',
  'logout_token.delivered':
    'A client was notified of the end of a session by back-channel logout, after the first attempt had failed',
  'logout_token.refused': 'A client answered 400 to back-channel logout; the notification is not repeated',
  'logout_token.given_up':
    'A client could not be notified of the end of a session within `BACKCHANNEL_LOGOUT_RETENTION`',
  'keys.rotated': 'New signing keys were created by an administrator, or automatically (actor `schedule`)',
  'keys.withdrawn': 'A signing key was withdrawn at once',
  'secret_key.reencrypted':
    'Every stored value is encrypted with the first key of `SECRET_KEY`; the detail has its id, the number of values encrypted anew, and the ids of the keys that are no longer needed',
  'registration_token.created': 'An initial access token was created',
  'link.sent': 'A single-use link was mailed; the detail says for what',
  'link.created': 'An administrator created a single-use link for a user',
  'link.used': 'A single-use link was used',
  'mail.given_up': 'A mail could not be sent for a day, or the mail server refused it permanently',
  'mail.tested': 'An administrator sent a test email; a failure has the reason in its detail',
  'appearance.changed': 'An administrator changed the appearance of the pages; the detail names the members',
  'audit_events.exported':
    'The audit trail, or the events that match a filter, were exported; the detail names the filter',
  'audit_events.expired':
    'Events older than `AUDIT_RETENTION` were deleted; `rows` is their number, and `before` is the day up to which they were deleted',
};

/** The routes that this page describes, as "METHOD path". */
export const describedRoutes: readonly string[] = [
  ...Object.keys(addresses),
  ...adminRoutes().map((route) => `${route.method} ${route.path}`),
];

/** The whole page. */
export function reference(): string {
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

They need \`Authorization: Bearer\` with an access token with the scope \`admin\`. \`GET /admin/api/openapi.json\` describes their bodies and answers.

${table(
  ['Route', 'What it does'],
  adminRoutes().map((route) => [code(template(`${route.method} ${route.path}`)), route.summary]),
)}

## Commands

Each command begins with \`bin/gatehouse\`, and prints JSON with \`--json\`.

${table(
  ['Command', 'What it does'],
  Object.entries(commands()).map(([name, { usage, summary }]) => [code(`${name} ${usage}`.trim()), summary]),
)}

## Configuration files

[configuration.md](configuration.md) explains them. Each section is a mapping by the member that its heading names. A secret is \`{env: NAME}\`, \`{file: PATH}\` or \`generate\`.

${configTables()}

## Error codes

Every JSON error has \`error\`, one of these codes, and \`error_description\`, a sentence that says what to do.

${table(
  ['Code', 'When'],
  errorCodes.map((name) => [code(name), errors[name]]),
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
  return fileNouns
    .map(({ section, of, key, isSingle }) => {
      const rows = membersOf(of)
        .filter(([name]) => name !== key)
        .map(([name, { says, start, required, secret, convert }]) => [
          code(name),
          required
            ? 'must be there'
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

if (import.meta.main) writeFileSync(new URL('../docs/reference.md', import.meta.url), reference());
