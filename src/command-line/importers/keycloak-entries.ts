// Turns clients and identity providers of a realm of Keycloak into entries of the configuration file.
import { z } from 'zod';
import { isRegistrableScope } from '../../oauth/scope.ts';
import { connectionId } from '../../entities/connections.ts';
import type { Entry, GivenRole } from './entries.ts';
import type { Move } from './move.ts';
import { quoted } from './report.ts';

const texts = z.array(z.string()).nullish();
const flag = z.boolean().nullish();
const attributes = z.record(z.string(), z.unknown()).nullish();
const mapper = z.looseObject({ name: z.string(), protocolMapper: z.string() });
const clientShape = z.looseObject({
  clientId: z.string(),
  name: z.string().nullish(),
  enabled: flag,
  protocol: z.string().nullish(),
  publicClient: flag,
  bearerOnly: flag,
  clientAuthenticatorType: z.string().nullish(),
  secret: z.string().nullish(),
  rootUrl: z.string().nullish(),
  baseUrl: z.string().nullish(),
  redirectUris: texts,
  consentRequired: flag,
  standardFlowEnabled: flag,
  implicitFlowEnabled: flag,
  directAccessGrantsEnabled: flag,
  serviceAccountsEnabled: flag,
  authorizationServicesEnabled: flag,
  frontchannelLogout: flag,
  attributes,
  defaultClientScopes: texts,
  optionalClientScopes: texts,
  protocolMappers: z.array(mapper).nullish(),
});
type KeycloakClient = z.infer<typeof clientShape>;

/** Scopes that Keycloak gives to every client, without a counterpart that users would miss. */
const ownScopes = [
  'acr',
  'basic',
  'microprofile-jwt',
  'organization',
  'role_list',
  'saml_organization',
  'service_account',
  'web-origins',
];

/** How a client authenticates. Keycloak takes the secret in the header and in the body. */
const methods = new Map([
  ['client-secret', 'client_secret_basic'],
  ['client-jwt', 'private_key_jwt'],
  ['client-secret-jwt', 'client_secret_jwt'],
]);

export function moveKeycloakClient(move: Move, id: string, given: unknown, roles: GivenRole[]): void {
  const note = (said: string) => move.note(`client ${id}`, said);
  const { data: client, error } = clientShape.safeParse(given);
  const reason = error
    ? `The entry has another form than expected, at ${quoted(error.issues[0]!.path.join('.'))}`
    : client.protocol === 'saml'
      ? 'It speaks SAML'
      : client.bearerOnly
        ? 'It only accepts tokens: register it as a resource'
        : !grantsOf(client).length
          ? 'It uses no grant that the service has'
          : undefined;
  if (!client || reason !== undefined) return note(`${reason}. The client is left out.`);
  const method = client.publicClient ? 'none' : methods.get(client.clientAuthenticatorType ?? 'client-secret');
  if (method === undefined)
    return note(
      `It authenticates by ${quoted(client.clientAuthenticatorType!)}, which the service does not have. The client is left out.`,
    );
  noteRest(client, note);
  const secret = isShown(client.secret) ? client.secret : undefined;
  move.client(id, {
    members: {
      ...(client.name && !client.name.startsWith('${') && { client_name: client.name }),
      ...(client.enabled === false && { status: 'disabled' }),
      // Keycloak asks for consent only where a client says so
      ...(!client.consentRequired && { first_party: true }),
      token_endpoint_auth_method: method,
      grant_types: grantsOf(client),
      ...(client.standardFlowEnabled === false
        ? { response_types: [] }
        : { redirect_uris: (client.redirectUris ?? []).map((uri) => absolute(client, uri)), response_types: ['code'] }),
      scope: scopeOf(client, roles.length > 0, note),
      ...membersOfAttributes(client),
    },
    ...(secret !== undefined && { secret: { value: secret, keep: () => move.secret(`client-${id}`, secret) } }),
    roles,
  });
}

/** Whether an export has a secret, and not in its place asterisks, or the name of one in a vault. */
const isShown = (secret: string | null | undefined): secret is string =>
  Boolean(secret?.trim()) && !/^\*+$|^\$\{vault\./.test(secret!);

const attributeOf = ({ attributes }: KeycloakClient, name: string): string | undefined => {
  const value = attributes && Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
};

function grantsOf(client: KeycloakClient): string[] {
  const hasUsers = client.standardFlowEnabled !== false;
  const hasDevices = attributeOf(client, 'oauth2.device.authorization.grant.enabled') === 'true';
  return [
    ...(hasUsers ? ['authorization_code'] : []),
    ...(hasDevices ? ['urn:ietf:params:oauth:grant-type:device_code'] : []),
    ...(hasUsers || hasDevices ? ['refresh_token'] : []),
    ...(client.serviceAccountsEnabled && !client.publicClient ? ['client_credentials'] : []),
  ];
}

/** An address that begins with a slash is below the root of the client. */
const absolute = ({ rootUrl }: KeycloakClient, uri: string): string =>
  uri.startsWith('/') && rootUrl ? rootUrl.replace(/\/+$/, '') + uri : uri;

function membersOfAttributes(client: KeycloakClient): Entry {
  const text = (name: string) => attributeOf(client, name);
  const after = text('post.logout.redirect.uris');
  const same = client.redirectUris ?? [];
  const posted = (after ?? '')
    .split('##')
    .flatMap((uri) => (uri === '+' ? same : uri === '-' || uri === '' ? [] : [uri]));
  const addresses = posted.map((uri) => absolute(client, uri)).filter((uri) => after !== '+' || !uri.includes('*'));
  const lifetime = Number(text('access.token.lifespan') ?? 0);
  const usesUrl = text('use.jwks.url') === 'true';
  const given: Entry = {
    post_logout_redirect_uris: addresses.length > 0 ? addresses : undefined,
    backchannel_logout_uri: text('backchannel.logout.url'),
    backchannel_logout_session_required: text('backchannel.logout.session.required') === 'true' || undefined,
    frontchannel_logout_uri: client.frontchannelLogout ? text('frontchannel.logout.url') : undefined,
    require_pkce: text('pkce.code.challenge.method') === 'S256' || undefined,
    access_token_lifetime: lifetime > 0 ? lifetime : undefined,
    jwks_uri: usesUrl ? text('jwks.url') : undefined,
    jwks: usesUrl ? undefined : keysOf(text('jwks.string')),
    id_token_signed_response_alg: text('id.token.signed.response.alg'),
    logo_uri: text('logoUri'),
    policy_uri: text('policyUri'),
    tos_uri: text('tosUri'),
    dpop_bound_access_tokens: text('dpop.bound.access.tokens') === 'true' || undefined,
    require_pushed_authorization_requests: text('require.pushed.authorization.requests') === 'true' || undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const keySet = z.object({
  // the members of a public key (RFC 7517, RFC 7518), without those that the service does not use
  keys: z.array(
    z.object(
      Object.fromEntries(
        ['kty', 'kid', 'use', 'alg', 'crv', 'x', 'y', 'n', 'e'].map((name) => [name, z.string().optional()]),
      ),
    ),
  ),
});

function keysOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (keySet.safeParse(JSON.parse(text)).data ?? 'other data');
  } catch {
    return 'other data';
  }
}

function scopeOf(client: KeycloakClient, hasRoles: boolean, note: (said: string) => void): string {
  const named = [...(client.defaultClientScopes ?? []), ...(client.optionalClientScopes ?? [])];
  const known = named.filter((scope) => isRegistrableScope(scope) && (scope !== 'roles' || hasRoles));
  const others = named.filter((scope) => !isRegistrableScope(scope) && !ownScopes.includes(scope));
  if (others.length > 0)
    note(`The scopes ${others.map(quoted).join(', ')} are left out. Define them as scopes, or at a resource.`);
  const usesGroups = (client.protocolMappers ?? []).some(
    ({ protocolMapper }) => protocolMapper === 'oidc-group-membership-mapper',
  );
  return [...new Set(['openid', ...known, ...(usesGroups ? ['groups'] : [])])].join(' ');
}

/** What the client used and the service does not have. */
function noteRest(client: KeycloakClient, note: (said: string) => void): void {
  if (client.implicitFlowEnabled) note('The implicit flow is left out: the client uses codes (RFC 9700 2.1.2).');
  if (client.directAccessGrantsEnabled) note('Passwords at the token endpoint are left out (RFC 9700 2.4).');
  if (client.authorizationServicesEnabled) note('Its policies of authorization services are left out.');
  for (const { name, protocolMapper } of client.protocolMappers ?? []) {
    if (protocolMapper === 'oidc-group-membership-mapper') continue;
    const isScript = protocolMapper.includes('script');
    note(
      `The mapper ${quoted(name)} (${quoted(protocolMapper)}) is left out${isScript ? ': the service runs no scripts' : ''}. A rule for claims may replace it.`,
    );
  }
}

const providerShape = z.looseObject({
  alias: z.string(),
  displayName: z.string().nullish(),
  providerId: z.string(),
  config: z.record(z.string(), z.unknown()).nullish(),
});

/** @returns the alias there and the id here; undefined for a provider that is left out */
export function moveIdentityProvider(move: Move, given: unknown): { alias: string; id: string } | undefined {
  const provider = providerShape.safeParse(given).data;
  if (!provider) {
    move.note('connections', 'An identity provider has another form than expected. It is left out.');
    return undefined;
  }
  const { alias, displayName, providerId, config } = provider;
  const text = (name: string): string | undefined => {
    const value = config && Object.hasOwn(config, name) ? config[name] : undefined;
    return typeof value === 'string' && value.trim() !== '' ? value : undefined;
  };
  const note = (said: string) => move.note(`connection ${alias}`, said);
  const kind = kindOf(providerId, text);
  if (!kind) {
    note(`The kind ${quoted(providerId)} has no counterpart. The connection is left out, with the links to it.`);
    return undefined;
  }
  const id = connectionIdOf(alias);
  const secret = text('clientSecret');
  const isKnown = isShown(secret);
  const moved = move.connection(id, {
    ...kind,
    display_name: displayName?.trim() || alias,
    ...(isKnown && { secret: { value: secret, keep: () => move.secret(`connection-${id}`, secret) } }),
  });
  if (moved)
    note(
      `Register the redirect address \`/connections/${id}/callback\` of this service there${isKnown ? '' : ', and enter the secret'}. Then enable the connection.`,
    );
  return moved ? { alias, id } : undefined;
}

/** A name of the form that ids have. */
function connectionIdOf(alias: string): string {
  const id = alias
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 40);
  return connectionId.safeParse(id).success ? id : `from-${id}`.slice(0, 40);
}

const tenant = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

function kindOf(providerId: string, text: (name: string) => string | undefined): Entry | undefined {
  const client_id = text('clientId');
  switch (providerId) {
    case 'oidc':
    case 'keycloak-oidc':
      return {
        kind: 'oidc',
        settings: {
          issuer: text('issuer'),
          client_id,
          ...(text('defaultScope') !== undefined && { scope: `openid ${text('defaultScope')!}` }),
          ...(text('clientAuthMethod') === 'client_secret_post' && {
            token_endpoint_auth_method: 'client_secret_post',
          }),
        },
      };
    case 'google':
      return { kind: 'oidc', preset: 'google', settings: { client_id } };
    case 'microsoft': {
      const id = text('tenantId');
      return id !== undefined && tenant.test(id)
        ? { kind: 'oidc', preset: 'microsoft', settings: { client_id, tenants: [id] } }
        : undefined;
    }
    case 'github':
      return { kind: 'oauth', preset: 'github', settings: { client_id } };
    default:
      return undefined;
  }
}
