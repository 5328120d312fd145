// Declares the check before issuing, which each statement that stores a code or a token asks (security R133).
import { storedFunction } from '../../database/stored-functions.ts';
import { plainAddress } from '../../rules/access/networks.ts';

export const mayIssueFunction = storedFunction(new URL('may_issue.sql', import.meta.url));

/**
 * The check for a token of the client itself, as the function makes it without a user and without networks: one row with the epoch, or none. As a
 * statement of its own it reads no table of users.
 */
export const mayIssueToClient = (clientId: string): string =>
  `(SELECT c.epoch FROM clients c WHERE c.client_id = ${clientId} AND c.status = 'enabled') AS issuing`;

/** The address at which a browser or client acts, as the function compares it. */
export const actsAt = (address: string | undefined): string => plainAddress(address) ?? '';
