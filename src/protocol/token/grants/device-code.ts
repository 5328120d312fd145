// Answers the polls of a device (RFC 8628 sections 3.4 and 3.5).
import { deviceGrant } from '../../../oauth/registrable-values.ts';
import type { Store } from '../../../repositories/store.ts';
import { deferredGrant } from '../deferred-grant.ts';

export const deviceCodeGrant = ({ store }: { store: Pick<Store, 'deviceAuthorizations'> }) =>
  deferredGrant({
    name: deviceGrant,
    parameter: 'device_code',
    called: 'the device code',
    poll: (...given) => store.deviceAuthorizations.poll(...given),
  });
