// Answers the polls of a client that asked a user by a backchannel request (OpenID Connect CIBA Core 10.1, 11).
import { cibaGrant as name } from '../../../oauth/registrable-values.ts';
import type { Store } from '../../../repositories/store.ts';
import { deferredGrant } from '../deferred-grant.ts';

export const cibaGrant = ({ store }: { store: Pick<Store, 'backchannelRequests'> }) =>
  deferredGrant({
    name,
    parameter: 'auth_req_id',
    called: 'auth_req_id',
    poll: (...given) => store.backchannelRequests.poll(...given),
  });
