// Declares the stored function that chooses the authorization details of a token, which redemptions and refreshes call.
import { storedFunction } from '../../database/stored-functions.ts';

export const tokenDetails = storedFunction(new URL('token_details.sql', import.meta.url));
