// Runs a sample television: it shows a code, polls until its user has decided in a browser, and then shows who is signed in (RFC 8628).
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as oidc from 'openid-client';
import { type DeviceScreen, deviceScreen } from './device-views.ts';
import { type Approve, approveNew, type Registered, reuse } from './registration.ts';
import { listen, redirect, send } from './web.ts';

export interface DeviceOptions {
  issuer: string;
  /** 0 for any free one. */
  port: number;
  /** The registration of an earlier start; used again while the service knows it. */
  registration?: Registered | undefined;
  /** Called when a registration waits for an administrator. */
  approve: Approve;
}

export interface Device {
  url: string;
  registration: Registered;
  stop(): Promise<void>;
}

const clientName = 'Lantern TV';
const scope = 'openid profile offline_access';

/** @throws the system's error when the port is taken, or openid-client's when the service refuses */
export async function startDevice(options: DeviceOptions): Promise<Device> {
  const { issuer } = options;
  /** A television has one screen for everybody in front of it. */
  let screen: DeviceScreen = { state: 'off' };
  /** Ends the polls. */
  let polls = new AbortController();
  let provider: oidc.Configuration;
  const { url, stop } = await listen({
    name: clientName,
    port: options.port,
    issuer,
    routes: { 'GET /': show, 'POST /connect': connect, 'POST /disconnect': disconnect },
    explain,
  });
  try {
    const registration = await register(options, url);
    provider = await oidc.discovery(new URL(issuer), registration.client_id, undefined, oidc.None(), {
      execute: [oidc.allowInsecureRequests],
      timeout: 10,
    });
    return {
      url,
      registration,
      async stop() {
        polls.abort();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }

  function show(_request: IncomingMessage, response: ServerResponse): void {
    // the screen changes when the user has decided elsewhere
    if (screen.state === 'code') response.setHeader('refresh', '2');
    send(response, 200, deviceScreen(screen));
  }

  async function connect(_request: IncomingMessage, response: ServerResponse): Promise<void> {
    polls.abort();
    polls = new AbortController();
    const { signal } = polls;
    const codes = await oidc.initiateDeviceAuthorization(provider, { scope });
    screen = { state: 'code', codes };
    waitForUser(codes, signal).then(
      (name) => (screen = { state: 'connected', name }),
      (error: unknown) => {
        if (!signal.aborted) screen = { state: 'refused', reason: explain(error) };
      },
    );
    redirect(response, '/');
  }

  /** Polls until the user has decided. @returns the name of the user */
  async function waitForUser(codes: oidc.DeviceAuthorizationResponse, signal: AbortSignal): Promise<string> {
    const tokens = await oidc.pollDeviceAuthorizationGrant(provider, codes, undefined, { signal });
    const { sub } = tokens.claims()!;
    const user = await oidc.fetchUserInfo(provider, tokens.access_token, sub);
    return user.name ?? sub;
  }

  /** Forgets the user. A device that keeps its refresh token revokes it here (RFC 7009). */
  function disconnect(_request: IncomingMessage, response: ServerResponse): void {
    polls.abort();
    screen = { state: 'off' };
    redirect(response, '/');
  }
}

/** Uses the registration of an earlier start while it is valid, else registers anew (RFC 7591). */
async function register(options: DeviceOptions, url: string): Promise<Registered> {
  const { issuer, approve } = options;
  const kept = await reuse(options.registration, { issuer, url, approve });
  if (kept) return kept;
  const registered = await oidc.dynamicClientRegistration(
    new URL(issuer),
    {
      client_name: clientName,
      client_uri: url,
      logo_uri: `${url}/logo.svg`,
      redirect_uris: [],
      response_types: [],
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      scope,
    },
    oidc.None(),
    { execute: [oidc.allowInsecureRequests], timeout: 10 },
  );
  const metadata = registered.clientMetadata();
  const registration: Registered = {
    issuer,
    url,
    client_id: metadata.client_id,
    registration_access_token: String(metadata['registration_access_token']),
    registration_client_uri: String(metadata['registration_client_uri']),
  };
  if (metadata['status'] === 'disabled') await approveNew(registration, approve);
  return registration;
}

function explain(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError) return error.error_description ?? error.error;
  return error instanceof Error ? error.message : String(error);
}
