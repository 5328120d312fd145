// Declares the commands that change settings of a client.
import type { z } from 'zod';
import { accessOptions, type clientChangeShape, siteOptions } from '../../entities/client-settings.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { OperationCommand } from './operation.ts';
import { shellWord } from './text-table.ts';

type Command = OperationCommand<
  { id: string },
  z.infer<typeof clientChangeShape>,
  { client: Client; newSecret: string | undefined; missingGroups?: readonly string[] }
>;

const requireAcr: Command = {
  name: 'client require-acr',
  summary: 'Sets the level of authentication (acr) that a client requires of its users',
  arguments: ['required_acr'],
  required: ['required_acr'],
  options: {},
  text: ({ client }) =>
    client.requiredAcr === undefined
      ? `The client ${client.clientId} no longer requires a level of authentication.`
      : `The client ${client.clientId} now requires ${client.requiredAcr} of its users.`,
};

const access: Command = {
  name: 'client access',
  summary:
    'Sets the users, networks and connections of a client, and the connections whose tokens it may read. Users who lose access lose the sessions and tokens of the client',
  options: accessOptions,
  text: ({ client, missingGroups = [] }) => {
    const who = client.access === 'everyone' ? 'Everyone' : `Members of ${client.accessGroups.join(', ')}`;
    const where = client.networks.length > 0 ? `, from ${client.networks.join(', ')}` : '';
    const how = client.connections.length > 0 ? `, signed in by ${client.connections.join(', ')}` : '';
    const missing = missingGroups.map(
      (group) => `\nThere is no group ${group} yet: bin/gatehouse group create ${shellWord(group)}`,
    );
    return `${who} may use the client ${client.clientId}${where}${how}.${missing.join('')}`;
  },
};

const claims: Command = {
  name: 'client claims',
  summary: 'Sets the rules that create claims for a client, each as a JSON object',
  options: { rule: 'claim_rules' },
  required: ['claim_rules'],
  forms: { claim_rules: 'json' },
  text: ({ client }) => `The client ${client.clientId} has ${client.claimRules.length} rules for claims.`,
};

const site: Command = {
  name: 'client site',
  summary: 'Changes the hosts, headers and open paths of a protected site, and how long a sign-in to it lasts',
  options: siteOptions,
  text: ({ client }) => `The protected site ${client.clientId} is at ${client.hosts.join(', ')}.`,
};

export const clientSettingCommands = [requireAcr, access, claims, site];
