// Defines the mobile or desktop application: a public client that receives codes by a loopback address or a scheme of its own (RFC 8252).
import { type ClientKind, needlessForPublic } from './client-kind.ts';

export const native: ClientKind = {
  name: 'native',
  metadata: {
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    require_pkce: true,
    // a user of a device stays signed in when the browser's session ends
    scope: 'openid profile email offline_access',
  },
  asked: ['client_name', 'redirect_uris'],
  unused: [
    ...needlessForPublic,
    'initiate_login_uri',
    'frontchannel_logout_uri',
    'frontchannel_logout_session_required',
  ],
  snippets: [
    { name: 'loopback', title: 'openid-client (Node.js)', redirectUris: /^http:/ },
    { name: 'appauth-android', title: 'AppAuth (Android)', redirectUris: /^(?!http:)/ },
    { name: 'appauth-ios', title: 'AppAuth (iOS)', redirectUris: /^(?!http:)/ },
  ],
};
