// Declares the stored function that paces the polls for deferred authorizations.
import { storedFunction } from '../../database/stored-functions.ts';

export const pacePoll = storedFunction(new URL('pace_poll.sql', import.meta.url));
