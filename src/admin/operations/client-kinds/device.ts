// Defines the device: a public client without a browser or a keyboard, whose user enters its code elsewhere (RFC 8628).
import { deviceGrant } from '../../../oauth/registrable-values.ts';
import { type ClientKind, needlessForPublic } from './client-kind.ts';

export const device: ClientKind = {
  name: 'device',
  metadata: {
    application_type: 'native',
    grant_types: [deviceGrant, 'refresh_token'],
    response_types: [],
    token_endpoint_auth_method: 'none',
    // a user of a device stays signed in when the browser's session ends
    scope: 'openid profile email offline_access',
  },
  // users see the host of the home page beside the name
  asked: ['client_name', 'client_uri'],
  unused: [
    ...needlessForPublic,
    'redirect_uris',
    'post_logout_redirect_uris',
    'initiate_login_uri',
    'first_party', // the page for devices always asks
    'authorization_code_lifetime',
    'require_pushed_authorization_requests',
    'default_acr_values',
    'frontchannel_logout_uri',
    'frontchannel_logout_session_required',
  ],
  snippets: [
    { name: 'device', title: 'openid-client (Node.js)' },
    { name: 'device-curl', title: 'curl' },
  ],
};
