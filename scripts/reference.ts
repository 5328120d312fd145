// Writes docs/reference.md from the code: settings, addresses, error codes, events, commands. Usage: node scripts/reference.ts
// test/docs.test.ts makes it again and compares, so that a change of the code is a change of the page.
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { ownEndpoints, standardEndpoints } from '../src/protocol/protocol.ts';
import { commands } from '../src/command-line/index.ts';
import { settings } from '../src/config.ts';
import { adminRoutes } from '../src/admin/api/routes.ts';
import { errorCodes, type ErrorCode } from '../src/oauth/errors.ts';
import { auditEventTypes, type AuditEventType } from '../src/repositories/audit/audit-events.ts';
import { tokenIssued } from '../src/repositories/audit/audit-view.ts';

/** What each address does; the admin routes describe themselves. A test compares this with the routes of a running service. */
const addresses: Record<string, string> = {
  'GET /.well-known/openid-configuration': 'What the service can do (OpenID Connect Discovery 1.0)',
  'GET /.well-known/oauth-authorization-server': 'The same with the addresses of the service’s own (RFC 8414)',
  'GET /jwks': 'The public keys that verify ID Tokens (RFC 7517)',
  'GET /authorize': 'Begins a sign-in (OpenID Connect Core 3.1.2)',
  'POST /authorize': 'The same by a form',
  'GET /authenticate': 'The short form of a sign-in: `client_id` and `redirect_uri`, with the client’s default scopes',
  'POST /authenticate': 'The answer to the page “Continue to …”, which a call from another site gets',
  'POST /par': 'Takes an authorization request ahead of the browser (RFC 9126)',
  'GET /login': 'The sign-in page',
  'POST /login': 'Its form',
  'POST /login/passkey': 'The same by a passkey',
  'GET /login/second-factor': 'The second step of a sign-in: a code of an authenticator, or a recovery code',
  'POST /login/second-factor': 'Its form',
  'GET /login/authenticator': 'Sets up the first second factor of somebody who needs one to go on',
  'POST /login/authenticator': 'Its form',
  'GET /consent': 'The consent page',
  'POST /consent': 'Its form',
  'GET /error': 'The page of an error',
  'GET /access-denied': 'The page of an access that was refused',
  'GET /account': 'The account page, which leads to the others of the account',
  'GET /account/profile': 'What is stored about the person, with the applications that may see it',
  'GET /account/profile/edit': 'The page on which people change it, as far as `PROFILE_EDITABLE` lets them',
  'POST /account/profile/edit': 'Its form',
  'GET /account/security': 'The ways to sign in, each with its page',
  'GET /account/sessions': 'Where the person is signed in',
  'POST /account/sessions': 'Its form that ends one session',
  'POST /account/other-sessions': 'Its form that ends all sessions but this one',
  'POST /account/all-sessions': 'Its form that ends all sessions, this one too',
  'GET /account/applications': 'The applications with access',
  'POST /account': 'Its form that withdraws the access of one',
  'GET /account/delete': 'The page on which people delete their account, where `ACCOUNT_DELETION` lets them',
  'POST /account/delete': 'Its form',
  'GET /account/data': 'What people may do with their data as a whole',
  'GET /account/password': 'The page on which people change the password',
  'POST /account/password': 'Its form',
  'GET /account/email': 'The page on which people change the address of the account, after a fresh sign-in',
  'POST /account/email': 'Its form: a link goes to the new address',
  'POST /account/email/verification': 'The form that mails a link to the present address',
  'GET /account/email/confirm': 'Where such a link leads; looking does not use it up',
  'POST /account/email/confirm': 'Its form, which does',
  'GET /account/email/stop': 'Where the link leads by which the address before stops a change; looking changes nothing',
  'POST /account/email/stop': 'Its form, which stops it',
  'GET /password/forgotten': 'The page on which people ask for a link by which to choose a new password',
  'POST /password/forgotten': 'Its form; the answer is the same whether there is such an account or not',
  'GET /password/reset': 'Where such a link leads; looking does not use it up',
  'POST /password/reset': 'Its form, which does',
  'GET /sign-up': 'The page on which people ask for an account, where `SIGN_UP=on`; else 404',
  'POST /sign-up': 'Its form; the answer is the same whether the address has an account or not',
  'GET /sign-up/complete': 'Where the link leads that it mails',
  'POST /sign-up/complete': 'Its form, which makes the account',
  'GET /account/passkeys': "The page of one's passkeys",
  'POST /account/passkeys': 'Its form that adds one',
  'POST /account/passkeys/rename': 'Its form that renames one',
  'POST /account/passkeys/remove': 'Its form that removes one',
  'GET /account/second-factors': 'The page on which people see their second factors, and remove one',
  'POST /account/second-factors': 'Its form; after a sign-in of the last 15 minutes, as the two below',
  'GET /account/authenticator': 'The page on which people set up an authenticator (RFC 6238)',
  'POST /account/authenticator': 'Its form',
  'POST /account/recovery-codes': 'Makes new recovery codes, which are shown once',
  'POST /account/data': 'Its form that downloads what is stored about the person',
  'GET /': 'Leads to the account page',
  'POST /token': 'Tokens for a code, a refresh token or client credentials (RFC 6749)',
  'POST /revoke': 'Ends a token (RFC 7009)',
  'POST /introspect': 'What a token is good for (RFC 7662)',
  'GET /user/info': 'The claims of the End-User by an access token (OpenID Connect Core 5.3)',
  'POST /user/info': 'The same, where `USERINFO_POST=true`; else 405',
  'GET /user/:sub/address': 'The End-User’s address',
  'GET /user/:sub/info': 'The claims of the End-User that the scopes of the grant allow',
  'POST /user/:sub/info': 'The same',
  'GET /user/:sub/scope': 'The End-User’s groups; by Bearer token only',
  'GET /user/:sub/settings': 'What the client keeps for the End-User',
  'PUT /user/:sub/settings': 'Sets keys of it; `null` removes one',
  'GET /logout': 'Asks the End-User whether to sign out (OpenID Connect RP-Initiated Logout 1.0)',
  'POST /logout': 'The same by a form, and the answer',
  'GET /end-session': 'Ends the client’s own session by a signed request, without a page',
  'GET /check-session':
    'The page that relying parties frame to hear of a changed sign-in (OpenID Connect Session Management 1.0)',
  'POST /register': 'Registers a client, repeats its registration (RFC 7591), or asks what became of a deferred one',
  'GET /register/:clientId': 'Reads a registration (RFC 7592)',
  'PUT /register/:clientId': 'Replaces its metadata',
  'DELETE /register/:clientId': 'Ends it',
  'GET /admin': 'The console, for administrators',
  'GET /admin/callback': "Where the console's own sign-in ends",
  'GET /admin/try-it': 'The console’s page that tries a client by a real code flow',
  'POST /admin/try-it/redirect-uri': 'Its form that adds the callback to the client’s redirect URIs, or takes it away',
  'POST /admin/try-it/begin': 'Its form that begins the flow',
  'GET /admin/try-it/callback': 'Where the flow’s answer arrives',
  'POST /admin/try-it/redeem': 'Its form that redeems the code with the client’s secret',
  'GET /admin/sessions': 'Who is signed in where, by user or address',
  'POST /admin/sessions': 'Ends one of them',
  'GET /admin/sessions/end': 'Asks whether all sessions of a user shall end',
  'POST /admin/sessions/end': 'Ends them',
  'GET /admin/keys': 'The signing keys, and what encrypts at rest',
  'GET /admin/keys/rotate': 'Asks for which algorithms there shall be new signing keys',
  'POST /admin/keys/rotate': 'Makes them',
  'GET /admin/keys/withdraw': 'Asks whether a signing key shall go at once',
  'POST /admin/keys/withdraw': 'Withdraws it',
  'GET /admin/audit': 'The audit trail, by any of its facts',
  'GET /admin/audit/:id': 'One event of it',
  'POST /admin/audit/export': 'What a filter found, as CSV or JSON Lines',
  'GET /admin/clients': "The console's clients, found by `q`, `status` and `registered`",
  'GET /admin/clients/waiting': 'Registrations and changes that wait, with what a decision hangs on',
  'POST /admin/clients/decide': 'Approves or refuses those that are ticked',
  'GET /admin/clients/new': 'A form for a new client',
  'POST /admin/clients/new': 'Makes it, and shows its secrets once',
  'GET /admin/clients/:id': 'A client, what hangs on it, and what happened to it',
  'GET /admin/clients/:id/edit': 'A form with all that is registered of it',
  'POST /admin/clients/:id/edit': 'Saves it',
  'GET /admin/clients/:id/secrets': 'Asks which of its secrets shall be new',
  'POST /admin/clients/:id/secrets': 'Makes them, and shows them once',
  'GET /admin/clients/:id/disable': 'What disabling it ends',
  'POST /admin/clients/:id/disable': 'Disables it, if its name was typed',
  'GET /admin/clients/:id/delete': 'What deleting it ends',
  'POST /admin/clients/:id/delete': 'Deletes it, if its name was typed',
  'GET /admin/users': "The console's search of users",
  'GET /admin/users/:sub': 'One user, with what can be done',
  'POST /admin/users/:sub': 'What is done to a user',
  'GET /admin/users/import': 'A form that takes over users of a file',
  'POST /admin/users/import': 'The check of such a file, and its import',
  'GET /admin/users/import/:id': 'How far an import is, and how it went',
  'GET /admin/users/export': 'Choosing which users to export',
  'POST /admin/users/export': 'These users, as CSV or JSON Lines',
  'GET /admin/users/new': 'A form that makes a user',
  'POST /admin/users/new': 'The user that it makes, and a link by which the person chooses a password',
  'GET /admin/users/:sub/edit': 'What is stored about a user',
  'POST /admin/users/:sub/edit': 'The change of it',
  'GET /admin/users/:sub/password': 'Ways to help somebody in',
  'POST /admin/users/:sub/password': 'A link by which a user chooses a password, or a password that is set',
  'GET /admin/users/:sub/second-factors/remove': 'What goes with second factors of a user',
  'POST /admin/users/:sub/second-factors/remove': 'Their removal',
  'GET /admin/users/:sub/delete': 'What goes with a user',
  'POST /admin/users/:sub/delete': 'The deletion of a user',
  'GET /admin/search': 'Users, clients and groups that the field of the top bar finds',
  'GET /admin/groups': "The console's list of groups",
  'POST /admin/groups': 'Makes a group',
  'GET /admin/groups/:name': 'One group: facts, members, what can be done',
  'POST /admin/groups/:name/members': 'Puts users into a group, or takes one out',
  'GET /admin/groups/:name/edit': 'Asks for another name and description of a group',
  'POST /admin/groups/:name/edit': 'Renames or describes a group',
  'GET /admin/groups/:name/delete': 'Says what the end of a group means',
  'POST /admin/groups/:name/delete': 'Deletes a group',
  'GET /admin/registration': 'Where an administrator enters a verification code and reviews the registration behind it',
  'POST /admin/registration': 'The decision about it',
  'GET /health/live': 'Whether the process answers',
  'GET /health/ready':
    'Whether it can work: the database answers, the first administrator exists, and it is not stopping',
  'GET /metrics': 'What an instance measures of itself, in Prometheus’ format; needs the scope `metrics`',
};

const errors: Record<ErrorCode, string> = {
  invalid_request: 'A parameter is missing, repeated, too long or not valid; the sentence names it (RFC 6749)',
  invalid_client: 'The client did not authenticate, or the signed request is not one of it (RFC 6749)',
  invalid_grant: 'The code or refresh token is unknown, used, expired or another client’s (RFC 6749)',
  unauthorized_client: 'The client is not enabled, or may not use this grant or response type (RFC 6749)',
  unsupported_grant_type: 'There is no such grant type (RFC 6749)',
  invalid_scope: 'A scope is unknown or not registered for the client (RFC 6749)',
  access_denied: 'The End-User refused, or the client may not know this End-User (RFC 6749)',
  unsupported_response_type: 'The client did not register this response type (RFC 6749)',
  server_error: 'Something went wrong in the service; the reference in the sentence is in its log (RFC 6749)',
  temporarily_unavailable:
    'The database does not answer, or a limit is reached: come back after `Retry-After`, a client without a page after a minute (RFC 6749)',
  invalid_token: 'The token is unknown, expired, revoked or malformed (RFC 6750)',
  insufficient_scope: 'The token is good, but lacks the scope that this needs (RFC 6750)',
  insufficient_user_authentication:
    'A person’s token is good, but the sign-in is too old for this: ask again with `max_age` (RFC 9470)',
  interaction_required: '`prompt=none`, but a page would have to be shown (OpenID Connect Core)',
  login_required: '`prompt=none`, but nobody is signed in (OpenID Connect Core)',
  consent_required: '`prompt=none`, but consent would have to be asked (OpenID Connect Core)',
  unmet_authentication_requirements:
    'No sign-in here reaches the `acr` that the request says is essential (OpenID Connect Core)',
  request_not_supported:
    'The request object is not signed, and the service takes only signed ones (OpenID Connect Core)',
  request_uri_not_supported: 'The same of a request object by reference (OpenID Connect Core)',
  invalid_request_uri: '`request_uri` is not registered, or no request object can be had there (RFC 9101)',
  invalid_request_object: 'The request object cannot be verified, or does not fit the parameters beside it (RFC 9101)',
  registration_not_supported: 'The parameter `registration` is not supported (OpenID Connect Core)',
  invalid_redirect_uri: 'A redirect address cannot be registered (RFC 7591)',
  invalid_client_metadata: 'Another member of a registration is not valid (RFC 7591)',
  slow_down:
    'The registration still waits, and the poll came too soon: wait for `Retry-After` seconds from now on (RFC 8628)',
  expired_token: 'Nobody decided about the registration in time, or it was not collected: register again (RFC 8628)',
  invalid_registration:
    'The registration code is unknown or used: register again (draft-dellaert-oauth-approval-based-dcr)',
  unsupported_token_type: 'There is no such `token_type_hint`, or not for this (RFC 7009)',
  invalid_target: 'The parameter `resource` names no resource server that is known (RFC 8707)',
  not_found: 'There is nothing at this address, or nothing of this name',
  conflict: 'The thing changed since it was looked at, or the name is taken',
};

const events: Record<AuditEventType, string> = {
  'user.signed_in': 'A person signed in',
  'user.first_factor_shown':
    'A password was right, and a second factor is asked for; without `user.signed_in` after it somebody else may know the password',
  'user.sign_in_failed': 'A sign-in with a wrong name or password',
  'user.locked_out': 'A try to sign in was not looked at: the account had too many failures and waits',
  'user.failures_forgotten': 'An administrator forgot the failed sign-ins of a user, who need not wait any more',
  'user.signed_out': 'A person signed out',
  'user.created': 'A user was made',
  'user.changed': 'A user was changed; the detail names the members',
  'user.disabled': 'A user was disabled, with all sessions and tokens',
  'user.deleted': 'A user was deleted',
  'user.password_changed': 'A password was set, perhaps with other members; the detail names them',
  'user.second_factor_added': 'A person set up a second factor; the detail says of which kind, and how it is called',
  'user.second_factor_removed': 'A person, or an administrator, took a second factor away',
  'user.recovery_codes_renewed': 'A person got new recovery codes; those before are no longer good',
  'user.recovery_code_used': 'A person signed in with a recovery code; the detail says how many are left',
  'user.data_downloaded': 'A person downloaded what is stored about them',
  'user.signed_up': 'A person opened an account (`SIGN_UP=on`)',
  'user.email_verified': 'A person proved by a mailed link that the address of the account is theirs',
  'user.email_change_stopped': 'A change of the address was stopped by the link that the address before had got',
  'user.email_changed': 'A person gave the account another address, and proved by a mailed link that it is theirs',
  'users.imported': 'A file of users was imported; each user has an event of its own',
  'users.exported': 'The users were exported; the detail says whether with password hashes',
  'group.created': 'A group was made',
  'group.changed': 'A group was described anew or renamed',
  'group.deleted': 'A group was deleted',
  'consent.granted': 'A person allowed scopes to a client',
  'consent.denied': 'A person refused them',
  'consent.withdrawn': 'A person, or an administrator for them, withdrew what was allowed',
  'client.registered': 'A client registered itself',
  'client.collected': 'A client collected the credentials of a registration that was approved: it is enabled',
  'client.updated': 'A registration was changed, by its client or an administrator; the detail names the members',
  'client.credentials_renewed': 'A registration was repeated: new secrets, the old ones are dead',
  'client.created': 'An administrator made a client',
  'client.approved':
    'An administrator enabled a client, or what waited of it, perhaps with a change; the detail names the members',
  'client.refused': 'An administrator refused what waited; the detail has the reason',
  'client.expired': 'A registration that nobody approved was deleted',
  'client.disabled': 'A client was disabled, with all sessions and tokens',
  'client.deleted': 'A client was deleted',
  'client.authentication_failed': 'A client gave wrong credentials',
  'code.replayed': 'An authorization code came a second time; what came of it is revoked',
  'code.misused': 'An authorization code came from another client',
  'code.burned': 'An authorization code failed for the fifth time and is dead; the detail says why it failed',
  'refresh_token.reused': 'A spent refresh token came back, or one of an ended line; its family is revoked',
  'refresh_token.misused': 'A refresh token came from another client',
  'token.revoked': 'A client revoked a token',
  'session.ended':
    'Its person or an administrator ended a browser’s session or all of a user, somebody else signed in there, or its user had too many',
  'client_session.ended': 'A client ended its session by a signed request',
  'logout_token.delivered': 'A client was told of a session’s end by back-channel logout, not at the first attempt',
  'logout_token.refused': 'A client answered 400 to back-channel logout; it is not told again',
  'logout_token.given_up': 'A client could not be told of a session’s end in `BACKCHANNEL_LOGOUT_RETENTION`',
  'keys.rotated': 'New signing keys were made, by an administrator or the `schedule`',
  'keys.withdrawn': 'A signing key was taken away at once',
  'secret_key.reencrypted':
    'Every stored value is encrypted with the first key of `SECRET_KEY`; the detail has its id, the number of values encrypted anew, and the ids of the keys that are no longer needed',
  'registration_token.created': 'An initial access token was made',
  'link.sent': 'A single-use link was mailed; the detail says for what',
  'link.created': 'An administrator made a single-use link, to hand over',
  'link.used': 'A single-use link was used',
  'mail.given_up': 'A mail could not be sent for a day, or the mail server refused it for good',
  'audit_events.exported': 'The audit trail, or what a filter found of it, was exported; the detail names the filter',
  'audit_events.expired':
    'Events older than `AUDIT_RETENTION` were deleted; `rows` says how many, `before` up to which day',
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
- [Error codes](#error-codes)
- [Events](#events)

## Settings

Environment variables. An empty value is no value. A wrong one stops the start with a sentence that names it.

${settingTables()}

## Addresses

All hang below the issuer (\`BASE_URL\`). A name in the last column is the one under which the discovery documents give the
address: the names of the service’s own stand in \`/.well-known/oauth-authorization-server\` only.
The discovery documents, the keys, the health checks and the pages’ own files answer HEAD, too; nothing else does.

${table(
  ['Address', 'What it does', 'Name'],
  Object.entries(addresses).map(([route, what]) => [code(template(route)), what, nameOf(route)]),
)}

## Admin routes

With \`Authorization: Bearer\` and an access token of the scope \`admin\`. \`GET /admin/api/openapi.json\` describes their bodies and answers.

${table(
  ['Route', 'What it does'],
  adminRoutes().map((route) => [code(template(`${route.method} ${route.path}`)), route.summary]),
)}

## Commands

Each begins with \`npm run -s idp --\`, and prints JSON with \`--json\`.

${table(
  ['Command', 'What it does'],
  Object.entries(commands()).map(([name, { usage, summary }]) => [code(`${name} ${usage}`.trim()), summary]),
)}

## Error codes

Every JSON error has \`error\`, one of these, and \`error_description\`, a sentence that says what to do.

${table(
  ['Code', 'When'],
  errorCodes.map((name) => [code(name), errors[name]]),
)}

## Events

Each is a row of the audit trail and a line of the log, with time, outcome, actor, client, subject and address: \`event\`, \`outcome\`, \`actor\`,
\`client_id\`, \`sub\`, \`address\` and \`detail\`. What is done on the command line (actor \`command line\`) or by SQL on clients, users and sessions
(actor \`sql\`, with the \`database_role\` in the detail) has its row, but no line: no instance of the service did it. The view of the trail has
\`${tokenIssued}\` beside them: a code, an access or refresh token or a handle that was issued and is still stored; \`detail.kind\` says which.

${table(
  ['Event', 'What happened'],
  auditEventTypes.map((type) => [code(type), events[type]]),
)}
`;
}

/** A table for each part of .env.example, whose comments say what a setting is for. */
function settingTables(): string {
  const parts: { title: string; rows: string[][] }[] = [];
  let comment: string[] = [];
  for (const line of readFileSync(new URL('../.env.example', import.meta.url), 'utf8').split('\n')) {
    const title = /^# --- (.*)$/.exec(line)?.[1];
    const [, name, fallback] = /^# ([A-Z_]+)=(.*)$/.exec(line) ?? [];
    if (title !== undefined) parts.push({ title, rows: [] });
    else if (name !== undefined) {
      const rule = settings[name as keyof typeof settings];
      parts.at(-1)!.rows.push([code(name), fallback ? code(fallback) : '', valuesOf(rule), comment.join(' ')]);
    } else if (line !== '') {
      comment.push(line.slice(2));
      continue;
    }
    comment = [];
  }
  return parts
    .map(({ title, rows }) => `### ${title}\n\n${table(['Setting', 'Default', 'Values', 'What it is'], rows)}`)
    .join('\n\n');
}

/** Words, or the range of a number; nothing where the comment says it. */
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
  // one name for each address: where both methods are there, with GET
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
