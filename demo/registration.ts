// Defines what a sample application stores of its registration, and manages it from one start to the next (RFC 7592).
import * as oidc from 'openid-client';

export interface Registered {
  issuer: string;
  /** The application's own address, below which its registered addresses are. */
  url: string;
  client_id: string;
  registration_access_token: string;
  registration_client_uri: string;
}

/** Asks an administrator to approve a pending registration. */
export type Approve = (clientId: string) => Promise<void>;

/** The registration of an earlier start, if it is for this service and address and the service still knows it. */
export async function reuse<T extends Registered>(
  kept: T | undefined,
  at: { issuer: string; url: string; approve: Approve },
): Promise<T | undefined> {
  if (kept?.issuer !== at.issuer || kept.url !== at.url) return undefined;
  const known = await ask(kept, 'GET');
  if (!known.ok) return undefined;
  const { status } = (await known.json()) as { status?: string };
  if (status === 'disabled') await at.approve(kept.client_id);
  return kept;
}

/** Has a new registration approved. When that fails, deletes the registration, which would stay unused (RFC 7592 2.3). */
export async function approveNew(registration: Registered, approve: Approve): Promise<void> {
  await approve(registration.client_id).catch(async (error: unknown) => {
    await ask(registration, 'DELETE').catch(() => undefined);
    throw error;
  });
}

/** Calls the client configuration endpoint (RFC 7592 2). */
function ask(registration: Registered, method: 'GET' | 'DELETE'): Promise<Response> {
  return fetch(registration.registration_client_uri, {
    method,
    headers: { authorization: `Bearer ${registration.registration_access_token}` },
    signal: AbortSignal.timeout(10_000),
  });
}

/** The registration of a client with a secret. */
export interface SecretRegistration extends Registered {
  client_secret: string;
}

/** Uses the registration of an earlier start while it is valid, else registers a client with a secret anew (RFC 7591). */
export async function registered(
  earlier: SecretRegistration | undefined,
  { issuer, url, approve }: { issuer: string; url: string; approve: Approve },
  wanted: Partial<oidc.ClientMetadata>,
): Promise<SecretRegistration> {
  const kept = await reuse(earlier, { issuer, url, approve });
  if (kept) return kept;
  const answer = await oidc.dynamicClientRegistration(
    new URL(issuer),
    { ...wanted, token_endpoint_auth_method: 'client_secret_basic' },
    undefined,
    { execute: [oidc.allowInsecureRequests], timeout: 10 },
  );
  const metadata = answer.clientMetadata();
  const registration: SecretRegistration = {
    issuer,
    url,
    client_id: metadata.client_id,
    client_secret: String(metadata.client_secret),
    registration_access_token: String(metadata['registration_access_token']),
    registration_client_uri: String(metadata['registration_client_uri']),
  };
  if (metadata['status'] === 'disabled') await approveNew(registration, approve);
  return registration;
}
