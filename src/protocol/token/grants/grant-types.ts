// Lists the grant types of the token endpoint.
import type { Config } from '../../../config.ts';
import type { Store } from '../../../repositories/store.ts';
import type { ClientKeys } from '../../../tokens/client-keys.ts';
import type { TokenService } from '../../../tokens/token-service.ts';
import type { GrantType } from '../grant-type.ts';
import { authorizationCodeGrant } from './authorization-code.ts';
import { cibaGrant } from './ciba.ts';
import { clientCredentialsGrant } from './client-credentials.ts';
import { deviceCodeGrant } from './device-code.ts';
import { jwtBearerGrant } from './jwt-bearer.ts';
import { refreshTokenGrant } from './refresh-token.ts';
import { tokenExchangeGrant } from './token-exchange.ts';

/** Everything that a grant type can depend on; each declares what it needs. */
export interface GrantDependencies {
  config: Config;
  store: Store;
  tokens: TokenService;
  /** Reads the keys of trusted issuers. */
  issuerKeys: ClientKeys;
}

/** One line for each. Its value among the `grantTypes` that clients register has the same name (oauth/registrable-values.ts). */
export const grantTypes: ((dependencies: GrantDependencies) => GrantType)[] = [
  authorizationCodeGrant,
  refreshTokenGrant,
  clientCredentialsGrant,
  deviceCodeGrant,
  cibaGrant,
  tokenExchangeGrant,
  jwtBearerGrant,
];
