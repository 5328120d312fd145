// Declares the stored function that chooses the resource of a token, which redemptions and refreshes call.
import { storedFunction } from '../../database/stored-functions.ts';

export const tokenResource = storedFunction(new URL('token_resource.sql', import.meta.url));
