// Renders the screen of the sample television.
import type { DeviceAuthorizationResponse } from 'openid-client';
import { frame, html } from './views.ts';

export type DeviceScreen =
  | { state: 'off' }
  | { state: 'code'; codes: DeviceAuthorizationResponse }
  | { state: 'connected'; name: string }
  | { state: 'refused'; reason: string };

const application = 'Lantern TV';
const connect = html`<form method="post" action="/connect"><button class="button primary">Connect</button></form>`;

export function deviceScreen(screen: DeviceScreen): string {
  if (screen.state === 'code') {
    const { verification_uri: address, verification_uri_complete: link, user_code: code } = screen.codes;
    return frame(
      { application, title: 'Connect' },
      html`<div class="card">
        <h1>Open <bdi>${address}</bdi> on your telephone or computer</h1>
        <p class="lead">and enter this code:</p>
        <p><strong id="code">${code}</strong></p>
        <p class="quiet">On this computer you can <a href="${link ?? address}" target="_blank">open the page</a>.</p>
        <p class="quiet" role="status">Waiting for you …</p>
      </div>`,
    );
  }
  if (screen.state === 'connected') {
    return frame(
      { application, title: 'Connected' },
      html`<div class="card">
        <h1>Good evening, <bdi>${screen.name}</bdi></h1>
        <form method="post" action="/disconnect"><button class="button">Disconnect</button></form>
      </div>`,
    );
  }
  return frame(
    { application, title: screen.state === 'off' ? 'Welcome' : 'Not connected' },
    html`<div class="card">
      <h1>${screen.state === 'off' ? 'Welcome to Lantern TV' : 'Not connected'}</h1>
      <p class="lead">
        ${screen.state === 'off' ? 'A sample television without a keyboard.' : `The service said: ${screen.reason}.`}
      </p>
      ${connect}
    </div>`,
  );
}
