// Declares the check before issuing, which each statement that stores a code or a token asks (security R133).
import { storedFunction } from '../../database/stored-functions.ts';
import { plainAddress } from '../../rules/access/networks.ts';

export const mayIssueFunction = storedFunction(new URL('may_issue.sql', import.meta.url));

/** The address at which a browser or client acts, as the function compares it. */
export const actsAt = (address: string | undefined): string => plainAddress(address) ?? '';
