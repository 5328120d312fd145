// Declares the schemas of the admin routes' answers, by their names in the OpenAPI document; a test checks real answers against them.
import { z } from 'zod';
import { clientMetadataShape } from '../../oauth/client-metadata.ts';
import { claimsShape } from '../../rules/users/administration.ts';
import { connections } from '../../entities/connections.ts';
import { appearance } from '../../entities/appearance.ts';
import { attributes } from '../../entities/attributes.ts';
import { settingAnswers, settingParts } from '../../entities/client-settings.ts';
import { answerOf, newShape } from '../../entities/entity.ts';
import { groups } from '../../entities/groups.ts';
import { resources } from '../../entities/resources.ts';
import { roles } from '../../entities/roles.ts';
import { scopes } from '../../entities/scopes.ts';
import { signUpLinks } from '../../entities/sign-up-links.ts';
import { errorCodes } from '../../oauth/errors.ts';
import { auditEventTypes } from '../../repositories/audit/audit-events.ts';
import { tokenIssued } from '../../repositories/audit/audit-view.ts';
import { checkProblems } from '../../domain/connections/ldap/check.ts';
import { importStates } from '../../repositories/connections/directory-imports.ts';
import { linkKinds } from '../../repositories/connections/linked-identities.ts';
import { logoutDeliveryStatuses } from '../../repositories/logout-deliveries/logout-deliveries.ts';
import { confirmations } from '../../repositories/users/users.ts';
import { otherKinds } from '../../rules/clients/kinds.ts';
import { pictureTypes } from '../../rules/images/picture.ts';
import { keyStates } from '../../tokens/key-ring.ts';
import { accessAnswers } from './access-answers.ts';
import { webhookAnswers } from './webhook-answers.ts';
import { exchangeAnswers, grantedDetails } from './exchange-answers.ts';
import { provisioningAnswers } from './provisioning-answers.ts';
import { samlAnswers } from './saml-answers.ts';
import { scimAnswers } from './scim-answers.ts';

const time = z.iso.datetime();
const status = z.enum(['enabled', 'disabled']);
/** Of browsers, and of applications with their tokens. */
const endedAccess = z.object({ sessions: z.int(), tokens: z.int() });

// a client that was registered before id_token_claims existed has no such member
const metadata = clientMetadataShape.partial({ id_token_claims: true });
const client = metadata.extend({
  client_id: z.string(),
  kind: z
    .enum(otherKinds)
    .optional()
    .describe('Present if the client does not use OAuth: a SAML application, or a protected site (proxy).'),
  status,
  version: z.int().describe('Increases with every change; approvals and refusals name it.'),
  pending_changes: metadata.optional().describe('The complete metadata that is pending approval.'),
  ...settingAnswers(settingParts.trust),
  self_registered: z.boolean().describe('Whether the client registered itself; otherwise an administrator created it.'),
  origin: z
    .enum(['service', 'document'])
    .describe('Where the metadata comes from: requests to this service, or the document at the client_id.'),
  weak_secret: z
    .literal(true)
    .optional()
    .describe('Present if an administrator gave a secret that is easier to guess than those of the service: renew it.'),
  document_gone: z
    .literal(true)
    .optional()
    .describe(
      'Present if the document was missing for a day: users cannot authorize the client until it is approved again.',
    ),
  ...settingAnswers(settingParts.use),
  approved_by: z.enum(['administrator', 'initial_access_token', 'automatic']).optional(),
  awaits_collection: z
    .literal(true)
    .optional()
    .describe('Present until the client collects its credentials (approval mode), approved or not: it stays disabled.'),
  refusal_reason: z.string().optional(),
  logo: z.string().optional().describe('The path of the uploaded logo, below the issuer.'),
  ...settingAnswers(settingParts.lifetimes),
  ...settingAnswers(settingParts.saml),
  created_at: time,
  updated_at: time,
});
const user = z.object({
  sub: z.string(),
  username: z.string(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
  email_confirmed_by: z
    .enum(confirmations)
    .optional()
    .describe(
      'Who confirmed the address: a mail, an administrator, a connection with authority, or only another system.',
    ),
  status,
  admin: z.boolean(),
  groups: z.array(z.string()),
  claims: claimsShape,
  attributes: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
    .optional()
    .describe('Present if the user has values of attributes.'),
  has_password: z.boolean(),
  created_at: time,
  updated_at: time,
});
const invitation = z.object({
  invitation_uri: z
    .url()
    .optional()
    .describe('The link, if no mail was sent: hand it over where only the user can read it.'),
  invitation_expires_at: time
    .optional()
    .describe('When the link ends; a mailed one ends later than its mail by INVITATION_LIFETIME.'),
});
const { guarded_sources, ...groupMembers } = settingAnswers(groups.members);
const group = z.object({
  ...groupMembers,
  members: groups.row.members.answer,
  guarded: z.literal(true).optional().describe('Only administrators change its members.'),
  guarded_sources,
  created_at: time,
});
const attribute = newShape(attributes)
  .required({ label: true, person: true, unique: true })
  .extend({ choices: z.array(z.string()).optional(), max: z.int().optional() });
const scope = newShape(scopes);
const signUpLink = answerOf(signUpLinks);
const role = answerOf(roles);
const resource = answerOf(resources);
const connection = z
  .object(newShape(connections).omit({ secret: true }).shape)
  .extend({
    domains: z.array(z.string()),
    authoritative_domains: z.array(z.string()),
    session_lifetime: z.int().optional(),
  })
  .required({ status: true, linking: true, provisioning: true, settings: true, claim_rules: true, group_rules: true })
  .extend({
    secret: z.object({ set: z.boolean(), since: time.optional() }),
    key: z
      .object({ since: time })
      .optional()
      .describe('The key of private_key_jwt, published at /connections/{id}/jwks.'),
    logo: z.string().optional().describe('The path of the uploaded logo, below the issuer.'),
    published: z
      .looseObject({ digest: z.string().describe('Names these values in accept_metadata.') })
      .optional()
      .describe('What a SAML identity provider publishes now, if an administrator has not accepted it.'),
    discovered_at: time.optional().describe('When the metadata of the provider was last read.'),
    version: z.int().describe('Increases with every change; a change may name it.'),
    created_at: time,
    updated_at: time,
  });
const link = z.object({
  connection: z.string(),
  issuer: z.string(),
  subject: z.string(),
  how: z.enum(linkKinds),
  created_at: time,
  last_used_at: time.optional(),
});
const secondFactor = z.object({
  id: z.string(),
  kind: z.string().describe('Such as authenticator (an authenticator app) or passkey.'),
  name: z.string().describe('The name that the user gave it; may be empty.'),
  created_at: time,
  used_at: time.optional(),
});
const session = z.object({
  id: z.string(),
  sub: z.string(),
  username: z.string(),
  created_at: time,
  signed_in_at: time.describe('When the user last authenticated in this session.'),
  used_at: time.describe('To within a twentieth of SESSION_IDLE_LIFETIME.'),
  expires_at: time.describe('When the session ends, even if it is in use.'),
  remembered: z.boolean().describe('Whether the user chose to stay signed in. Such a session has no idle end.'),
  acr: z.string().optional(),
  amr: z.array(z.string()),
  address: z.string().optional().describe('The IP address of the sign-in.'),
  browser: z.string().optional().describe('The name of the browser, if known.'),
  browser_name: z.string().optional().describe('The name that the user gave the browser: the user’s own words.'),
  user_agent: z.string().optional(),
  clients: z
    .array(z.object({ client_id: z.string(), client_name: z.string() }))
    .describe('The clients that the user signed in to in this session.'),
});
const grant = z.object({
  client_id: z.string(),
  client_name: z.string(),
  scope: z.string(),
  claims: z.array(z.string()).describe('Individual claims in addition to those of the scopes.'),
  resources: z
    .array(z.object({ resource: z.string(), name: z.string(), scope: z.string() }))
    .optional()
    .describe('The resources with the scope that the user granted for each.'),
  authorization_details: grantedDetails,
  created_at: time,
});
const auditEvent = z.object({
  id: z.string(),
  at: time,
  type: z.enum([...auditEventTypes, tokenIssued]),
  outcome: z.enum(['success', 'failure']),
  actor: z.string().optional(),
  client_id: z.string().optional(),
  sub: z.string().optional(),
  address: z.string().optional(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
});
const logoutDelivery = z.object({
  id: z.string(),
  client_id: z.string(),
  sub: z.string(),
  sid: z.string().describe('The ID of the ended session at this client.'),
  status: z.enum(logoutDeliveryStatuses),
  attempts: z.int(),
  last_failure: z.string().optional(),
  created_at: time,
  next_attempt_at: time.optional().describe('Present while the delivery is pending.'),
  finished_at: time.optional(),
});
const key = z.object({
  kid: z.string(),
  alg: z.string(),
  state: z.enum(keyStates),
  active_at: time,
  expires_at: time.optional(),
});
const page = <S extends z.ZodType>(name: string, item: S) =>
  z.object({
    [name]: z.array(item),
    next_cursor: z.string().optional().describe('Present if there may be more results: send it as cursor.'),
  });

const { product_name, accent_color, ...otherParts } = settingAnswers(appearance);

export const answers = {
  Appearance: z.object({
    product_name,
    accent_color,
    accent_color_dark: z.string().optional().describe('The colors for dark mode, derived from accent_color.'),
    ...otherParts,
    fixed: z
      .array(z.enum(Object.keys(appearance)))
      .describe('The values from the environment of the service, which cannot be changed here.'),
  }),
  UploadedImage: z.object({
    uri: z.url().describe('Where it is served, at an address that cannot be guessed.'),
    type: z.enum(pictureTypes.map((type) => `image/${type}`)),
    size: z.int().describe('In bytes, without the removed metadata.'),
  }),
  TestMail: z.object({
    to: z.string(),
    server: z.string().describe('Host and port of the mail server, or the folder where SMTP_URL is not set.'),
  }),
  ClientMetadata: clientMetadataShape,
  Client: client,
  NewClient: client.extend({
    client_secret: z.string().optional(),
    proxy_secret: z.string().optional().describe('The secret of the proxy of a protected site.'),
    shared_secret: z.string().optional(),
    registration_access_token: z.string().optional(),
  }),
  ChangedClient: client.extend({
    client_secret: z.string().optional().describe('Present if the change required a new secret.'),
  }),
  AppliedConfig: z.object({
    name: z.string().describe('The set of files.'),
    changes: z.array(z.looseObject({})).describe('The changes, as the plan has them.'),
    warnings: z.array(z.string()),
  }),
  TakenOver: z.object({
    section: z.string(),
    key: z.string(),
    file_set: z.string().describe('The set of files that managed it.'),
  }),
  NewSecrets: z.object({
    client_id: z.string(),
    version: z.int(),
    client_secret: z.string().optional(),
    proxy_secret: z.string().optional(),
    shared_secret: z.string().optional(),
    registration_access_token: z.string().optional(),
  }),
  DecisionOutcomes: z.object({
    outcomes: z.array(
      z.object({
        client_id: z.string(),
        outcome: z
          .enum(['decided', 'changed', 'held', 'gone'])
          .describe(
            'changed: the client has another version, or nothing is pending: review it again. gone: the client does not exist.',
          ),
      }),
    ),
  }),
  ClientPage: page('clients', client),
  User: user,
  NewUser: user.extend(invitation.shape),
  Invitation: invitation,
  UserPage: page('users', user).extend({
    broad: z
      .literal(true)
      .optional()
      .describe(
        'Present if there are too many matches to sort, so that some may be missing between these. Send more words.',
      ),
  }),
  SignUpLink: signUpLink,
  SignUpLinkPage: page('sign_up_links', signUpLink),
  Group: group,
  GroupPage: page('groups', group),
  Attribute: attribute,
  Attributes: z.object({ attributes: z.array(attribute) }),
  Scope: scope,
  Scopes: z.object({ scopes: z.array(scope) }),
  Role: role,
  Roles: z.object({ roles: z.array(role) }),
  HoldersChange: z.object({ count: z.int().describe('How many groups and users got or lost the role.') }),
  Resource: resource,
  ResourcePage: page('resources', resource),
  ResourceMetadata: z.object({
    metadata_uri: z
      .string()
      .optional()
      .describe('Where the host of the resource publishes the document; absent for a URI that is no web address.'),
    document: z.looseObject({ resource: z.string(), authorization_servers: z.array(z.string()) }),
  }),
  Connection: connection,
  ConnectionList: z.object({ connections: z.array(connection) }),
  DeletedConnection: endedAccess.extend({ people: z.int().describe('How many users have no other way to sign in.') }),
  EndedAccess: endedAccess,
  DeletedGroup: z.object({ members: z.int().describe('How many members it had.') }),
  ConnectionTest: z.object({
    works: z.boolean(),
    users: z.int().describe('How many users were looked at.'),
    groups: z.array(z.string()).optional().describe('The names of the groups of the user in the directory.'),
    given_groups: z.array(z.string()).optional().describe('The groups here that the rules give the user.'),
    problem: z.enum(Object.keys(checkProblems) as [string, ...string[]]).optional(),
    description: z.string().optional().describe('The problem as a sentence.'),
  }),
  DirectoryImport: z.object({
    interval: z.int().nullable().describe('The minutes between two imports; null if nothing is imported.'),
    state: z.enum(importStates).describe('held: it would disable many users, and waits for an approval.'),
    running: z.boolean(),
    counts: z.record(z.string(), z.int()).describe('Users: found, created, changed, disabled, enabled, skipped, kept.'),
    problem: z.string().optional().describe('Why it failed.'),
    started_at: time.optional(),
    finished_at: time.optional(),
    full_at: time.optional().describe('When every user was last read.'),
  }),
  WordConfirmations: z.object({
    accounts: z.array(z.object({ sub: z.string(), username: z.string(), email: z.string() })),
    count: z.int().describe('The number of all such accounts; the list has the first ones.'),
  }),
  TakenBack: z.object({ count: z.int().describe('The number of addresses that are no longer confirmed.') }),
  ApprovedImport: z.object({ disabled: z.int().describe('The maximum number of users that it may disable.') }),
  LinkList: z.object({
    links: z.array(link),
    break_glass: z
      .boolean()
      .describe('Whether the user may sign in here although the domain of the address is enforced.'),
  }),
  MembersChange: z.object({
    added: z.array(z.string()),
    removed: z.array(z.string()),
    unchanged: z
      .array(z.string())
      .describe('Users who already were, or were not, members, or who are in a thousand groups.'),
    unknown: z.array(z.string()),
  }),
  SecondFactors: z.object({
    second_factors: z.array(secondFactor),
    recovery_codes: z.int().describe('The number of unused recovery codes; each replaces a second factor once.'),
  }),
  Session: session,
  SessionPage: page('sessions', session),
  Grant: grant,
  GrantPage: page('grants', grant),
  AuditEvent: auditEvent,
  AuditEventPage: page('events', auditEvent),
  ...accessAnswers,
  ...webhookAnswers,
  ...scimAnswers,
  ...exchangeAnswers,
  ...provisioningAnswers,
  LogoutDelivery: logoutDelivery,
  LogoutDeliveryPage: page('logout_deliveries', logoutDelivery),
  Key: key,
  Keys: z.object({ keys: z.array(key) }),
  ...samlAnswers,
  RegistrationToken: z.object({ initial_access_token: z.string(), expires_at: time }),
  RecoveryLink: z.object({ recovery_uri: z.url(), expires_at: time }),
  OpenApi: z.looseObject({ openapi: z.string() }),
  Error: z.object({
    error: z.enum(errorCodes),
    error_description: z.string(),
    max_age: z
      .int()
      .optional()
      .describe('With insufficient_user_authentication: the maximum age of the sign-in, in seconds.'),
  }),
} as const;
export type Answers = typeof answers;
export type AnswerName = keyof Answers;
