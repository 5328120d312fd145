// Lists the bodies that the OpenAPI document shows as examples, by the identifiers of their operations; a test checks each against its schema.

const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const api = 'https://api.example.com/notes';

/** Bodies of JSON. One that is not listed follows from its schema: it has the required members. */
export const exampleBodies: Readonly<Record<string, object>> = {
  post_clients: {
    client_name: 'Harbour',
    redirect_uris: ['https://harbour.example.com/callback'],
    post_logout_redirect_uris: ['https://harbour.example.com/'],
    scope: 'openid profile email groups',
  },
  patch_clients_id: { redirect_uris: ['https://harbour.example.com/callback', 'https://new.example.com/callback'] },
  post_clients_id_secrets: { secrets: ['client_secret'] },
  post_clients_decide: {
    decision: 'approve',
    clients: [{ client_id: 'f3c1a0de-5a42-4d0c-9a54-0b1f6c2d7e90', version: 3 }],
  },
  post_clients_id_look_alikes_other_dismiss: { name: 'Harbour', other_name: 'Harbor' },
  post_users: { username: 'ada', email: 'ada@example.com', invite: true, groups: ['staff'], claims: { name: 'Ada' } },
  patch_users_sub: { status: 'disabled' },
  post_users_sub_picture: { picture: onePixel },
  post_clients_id_logo: { logo: onePixel },
  post_connections_id_logo: { logo: onePixel },
  post_users_sub_recovery_link: { lifetime: 3600 },
  post_sign_up_links: {
    name: 'Summer school',
    domain: 'example.com',
    groups: ['guests'],
    uses: 30,
    expires_at: '2026-03-08T09:30:00.000Z',
  },
  patch_sign_up_links_sign_up_link: { status: 'disabled' },
  post_groups: { name: 'staff', description: 'Everyone who works here' },
  patch_groups_name: { description: 'Everyone who works at the harbour' },
  post_groups_name_members: { add: ['ada'], remove: ['bob'] },
  post_resources: {
    resource: api,
    name: 'Notes',
    scopes: [{ value: 'notes:read', description: { en: 'Read your notes' } }],
  },
  patch_resources_resource: { access_token_lifetime: 300 },
  post_authorization_details_types: {
    type: 'payment',
    schema: { type: 'object', required: ['amount'], properties: { amount: { type: 'string', maxLength: 20 } } },
    text: { en: 'Pay {amount}' },
  },
  patch_authorization_details_types_authorization_details_type: { status: 'disabled' },
  post_exchange_policies: {
    name: 'Reports for notes',
    client_id: 'f3c1a0de-5a42-4d0c-9a54-0b1f6c2d7e90',
    resources: [api],
    scopes: ['notes:read'],
  },
  patch_exchange_policies_exchange_policy: { status: 'disabled' },
  post_trusted_issuers: {
    name: 'Build server',
    issuer: 'https://build.example.com',
    resources: [api],
    scopes: ['notes:read'],
  },
  patch_trusted_issuers_trusted_issuer: { max_lifetime: 300 },
  post_connected_servers: {
    name: 'Chat',
    issuer: 'https://chat.example.com',
    clients: [{ client: 'f3c1a0de-5a42-4d0c-9a54-0b1f6c2d7e90', id: 'harbour', scopes: ['chat.read'] }],
  },
  patch_connected_servers_connected_server: { status: 'disabled' },
  post_scim_sources: { id: 'directory', name: 'Company directory' },
  patch_scim_sources_scim_source: { adopt: 'domain' },
  post_provisioning_targets: {
    client: 'f3c1a0de-5a42-4d0c-9a54-0b1f6c2d7e90',
    base_url: 'https://harbour.example.com/scim/v2',
    bearer_token: 'a token of the application',
  },
  patch_provisioning_targets_provisioning_target: { status: 'disabled' },
  post_provisioning_targets_provisioning_target_approve: { leaving: 2 },
  post_attributes: { name: 'cost_center', type: 'string', label: { en: 'Cost center' } },
  patch_attributes_attribute: { label: { en: 'Cost center', de: 'Kostenstelle' } },
  post_config_apply: {
    apiVersion: 'gatehouse/v1',
    name: 'staff',
    prune: false,
    enable: false,
    changes: [{ section: 'groups', key: 'staff', action: 'create' }],
    notes: [],
    files: [{ name: 'staff.yaml', text: 'apiVersion: gatehouse/v1\nname: staff\ngroups: { staff: {} }\n' }],
  },
  post_config_take_over: { section: 'groups', key: 'staff' },
  post_connections: {
    id: 'company',
    kind: 'oidc',
    display_name: 'Company account',
    domains: ['example.com'],
    settings: { issuer: 'https://login.example.com', client_id: 'gatehouse' },
    secret: 'the secret of the client there',
  },
  patch_connections_id: { display_name: 'Company account', hidden: true },
  post_users_sub_connections: { connection: 'company', issuer: 'https://login.example.com', subject: '00u1a2b3' },
  post_users_sub_break_glass: { marked: true },
  post_connections_test: {
    settings: { url: 'ldaps://ldap.example.com', base_dn: 'dc=example,dc=com' },
    secret: 'the password of the reader',
  },
  post_connections_id_test: { login: 'ada' },
  post_connections_id_import: { full: true },
  post_connections_id_import_approve: { disabled: 2 },
  post_scopes: { name: 'payroll', text: { en: 'See your cost center' }, claims: ['cost_center'] },
  patch_scopes_scope: { claims: ['cost_center'] },
  post_clients_id_roles: { name: 'editor', description: 'Changes articles' },
  patch_clients_id_roles_role: { description: 'Writes and changes articles' },
  post_clients_id_roles_role_give: { groups: ['staff'], users: ['ada'] },
  post_clients_id_roles_role_take: { users: ['ada'] },
  post_webhooks: { name: 'Chat', url: 'https://chat.example.com/hooks/1', events: ['user.disabled'] },
  patch_webhooks_webhook: { status: 'disabled' },
  post_webhooks_webhook_replay: { event: '1042' },
  post_registration_tokens: { lifetime: 3600 },
  post_keys: { immediate: false },
  patch_appearance: { product_name: 'Harbour accounts', accent_color: '#1d4ed8' },
  post_mail_test: { sub: '5b0c3f1e-8a1d-4f5b-9c77-2f4f1f0f6a11' },
};

const users = {
  'text/csv': 'username,email\nada,ada@example.com\n',
  'application/jsonl': '{"username":"ada","email":"ada@example.com"}\n',
};

/** Bodies and answers that are files, by the identifiers of their operations and by their media types. */
export const exampleFiles: Readonly<
  Record<string, Readonly<Record<'body' | 'answer', Readonly<Record<string, string>>>>>
> = {
  post_users_import: {
    body: users,
    answer: { 'application/jsonl': '{"done":true,"created":1,"updated":0,"skipped":0,"refused":0}\n' },
  },
  get_users_export: { body: {}, answer: users },
  get_audit_export: {
    body: {},
    answer: {
      'text/csv': 'id,at,type,outcome\n1042,2026-03-01T09:30:00.000Z,user.disabled,success\n',
      'application/jsonl': '{"id":"1042","at":"2026-03-01T09:30:00.000Z","type":"user.disabled","outcome":"success"}\n',
    },
  },
  post_config_plan: {
    body: {
      'application/yaml': 'apiVersion: gatehouse/v1\nname: staff\ngroups: { staff: { description: Works here } }\n',
    },
    answer: {
      'application/json':
        '{"apiVersion":"gatehouse/v1","name":"staff","prune":false,"enable":false,"changes":[],"notes":[],"files":[]}',
    },
  },
};
