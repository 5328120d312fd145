// Reads the settings of a client beside its registered metadata, and declares the commands that change them.
import type { z } from 'zod';
import type { clientChangeShape } from '../../oauth/administration.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import type { OperationCommand } from './operation.ts';

export function settingsOf(settings: z.infer<typeof clientChangeShape>): ClientChange {
  return {
    firstParty: settings.first_party,
    selfManaged: settings.self_managed,
    introspect: settings.introspect,
    requiredAcr: settings.required_acr,
    access: settings.access,
    accessGroups: settings.access_groups,
    connections: settings.connections,
    upstreamTokens: settings.upstream_tokens,
    networks: settings.networks,
    startUri: settings.start_uri,
    startHidden: settings.start_hidden,
    claimRules: settings.claim_rules,
    lifetimes: {
      authorizationCode: settings.authorization_code_lifetime,
      accessToken: settings.access_token_lifetime,
      refreshToken: settings.refresh_token_lifetime,
      idToken: settings.id_token_lifetime,
    },
  };
}

type Command = OperationCommand<
  { id: string },
  z.infer<typeof clientChangeShape>,
  { client: Client; newSecret: string | undefined }
>;

const requireAcr: Command = {
  name: 'client require-acr',
  summary: 'Sets the level of authentication (acr) that a client requires of its users; none removes the requirement',
  arguments: ['required_acr'],
  required: ['required_acr'],
  options: {},
  prepare: (given) => ({ ...given, ...(given['required_acr'] === 'none' && { required_acr: null }) }),
  text: ({ client }) =>
    client.requiredAcr === undefined
      ? `The client ${client.clientId} no longer requires a level of authentication.`
      : `The client ${client.clientId} now requires ${client.requiredAcr} of its users.`,
};

const isNone = (value: unknown) => Array.isArray(value) && value.length === 1 && value[0] === 'none';

const access: Command = {
  name: 'client access',
  summary:
    'Sets who may use a client, from where, by which connections they sign in, and whose tokens it may read; the value none empties --network, --connection, --upstream-token and --start-uri. Users who lose the client lose its sessions and tokens',
  options: {
    access: 'access',
    group: 'access_groups',
    connection: 'connections',
    'upstream-token': 'upstream_tokens',
    network: 'networks',
    'start-uri': 'start_uri',
    'start-hidden': 'start_hidden',
  },
  prepare: (given) => ({
    ...given,
    ...(isNone(given['networks']) && { networks: [] }),
    ...(isNone(given['connections']) && { connections: [] }),
    ...(isNone(given['upstream_tokens']) && { upstream_tokens: [] }),
    ...(given['start_uri'] === 'none' && { start_uri: null }),
  }),
  text: ({ client }) => {
    const who = client.access === 'everyone' ? 'Everyone' : `Members of ${client.accessGroups.join(', ')}`;
    const where = client.networks.length > 0 ? `, from ${client.networks.join(', ')}` : '';
    const how = client.connections.length > 0 ? `, signed in by ${client.connections.join(', ')}` : '';
    return `${who} may use the client ${client.clientId}${where}${how}.`;
  },
};

const claims: Command = {
  name: 'client claims',
  summary: 'Sets the rules that make claims for a client, each as a JSON object; --rule none removes all',
  options: { rule: 'claim_rules' },
  required: ['claim_rules'],
  prepare: (given) => ({
    ...given,
    claim_rules: isNone(given['claim_rules'])
      ? []
      : (given['claim_rules'] as unknown[]).map((rule) => (typeof rule === 'string' ? objectOf(rule) : rule)),
  }),
  text: ({ client }) => `The client ${client.clientId} has ${client.claimRules.length} rules for claims.`,
};

/** A rule that is no JSON stays text, which the schema refuses. */
function objectOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const clientSettingCommands = [requireAcr, access, claims];
