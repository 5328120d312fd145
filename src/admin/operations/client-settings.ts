// Declares the commands that change settings of a client.
import type { z } from 'zod';
import { accessOptions, type clientChangeShape } from '../../entities/client-settings.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { OperationCommand } from './operation.ts';

type Command = OperationCommand<
  { id: string },
  z.infer<typeof clientChangeShape>,
  { client: Client; newSecret: string | undefined }
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
    'Sets who may use a client, from where, by which connections they sign in, and whose tokens it may read. Users who lose the client lose its sessions and tokens',
  options: accessOptions,
  text: ({ client }) => {
    const who = client.access === 'everyone' ? 'Everyone' : `Members of ${client.accessGroups.join(', ')}`;
    const where = client.networks.length > 0 ? `, from ${client.networks.join(', ')}` : '';
    const how = client.connections.length > 0 ? `, signed in by ${client.connections.join(', ')}` : '';
    return `${who} may use the client ${client.clientId}${where}${how}.`;
  },
};

const claims: Command = {
  name: 'client claims',
  summary: 'Sets the rules that make claims for a client, each as a JSON object',
  options: { rule: 'claim_rules' },
  required: ['claim_rules'],
  forms: { claim_rules: 'json' },
  text: ({ client }) => `The client ${client.clientId} has ${client.claimRules.length} rules for claims.`,
};

export const clientSettingCommands = [requireAcr, access, claims];
