// Makes keys and DPoP proofs, good ones and crafted ones, and sends requests with them (RFC 9449).
import { hash, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { dpopAlgorithms } from '../../src/oauth/dpop-proof.ts';
import type { Answer } from './grants.ts';
import type { TestClient, TestService } from './service.ts';

export interface ProofKey {
  alg: string;
  privateKey: Parameters<SignJWT['sign']>[0];
  jwk: JWK;
  jkt: string;
}

export async function newProofKey(alg: string = dpopAlgorithms[0]): Promise<ProofKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return { alg, privateKey, jwk, jkt: await calculateJwkThumbprint(jwk) };
}

export interface ProofOptions {
  method?: string;
  /** The access token that goes with the proof. */
  token?: string;
  nonce?: string;
  /** Members that replace or, as undefined, remove those of a good proof. */
  header?: Record<string, unknown>;
  claims?: Record<string, unknown>;
}

/** A proof for a request, as a client makes it. */
export async function proofFor(key: ProofKey, uri: string, options: ProofOptions = {}): Promise<string> {
  const { method = 'POST', token, nonce, header = {}, claims = {} } = options;
  const payload = {
    jti: randomUUID(),
    htm: method,
    htu: uri,
    iat: Math.floor(Date.now() / 1000),
    ...(token !== undefined && { ath: hash('sha256', token, 'base64url') }),
    ...(nonce !== undefined && { nonce }),
    ...claims,
  };
  const protectedHeader = { typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk, ...header };
  return new SignJWT(payload).setProtectedHeader(protectedHeader as { alg: string }).sign(key.privateKey);
}

/** A JWS by ES256 of any two texts, which no library would write. */
export async function signTexts({ privateKey }: ProofKey, header: string, payload: string): Promise<string> {
  const content = [header, payload].map((text) => Buffer.from(text).toString('base64url')).join('.');
  const by = { name: 'ECDSA', hash: 'SHA-256' };
  const signature = await crypto.subtle.sign(by, privateKey as CryptoKey, Buffer.from(content));
  return `${content}.${Buffer.from(signature).toString('base64url')}`;
}

/** A JWS of any content, with the signature of the key or with any other. */
export function craft(header: unknown, payload: unknown, signature = 'c2lnbmF0dXJl'): string {
  const part = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(payload)}.${signature}`;
}

export interface Caller extends Pick<TestClient, 'clientId' | 'basic'> {
  metadata: Pick<TestClient['metadata'], 'token_endpoint_auth_method'>;
}

/** Posts a form as the client, with the given DPoP header; a public client sends its name. */
export async function post(
  uri: string,
  client: Caller,
  parameters: Record<string, string>,
  dpop?: string,
): Promise<Answer> {
  const isPublic = client.metadata.token_endpoint_auth_method === 'none';
  const response = await fetch(uri, {
    method: 'POST',
    body: new URLSearchParams({ ...(isPublic && { client_id: client.clientId }), ...parameters }),
    headers: { ...(!isPublic && { authorization: client.basic }), ...(dpop !== undefined && { dpop }) },
  });
  return read(response);
}

/** Posts a form as the client, with a proof of the key. The proof is for the issuer, whatever instance it goes to. */
export async function postWithProof(
  { issuer }: Pick<TestService, 'issuer'>,
  path: string,
  client: Caller,
  parameters: Record<string, string>,
  key: ProofKey,
  options: ProofOptions & { base?: string } = {},
): Promise<Answer> {
  return post(`${options.base ?? issuer}${path}`, client, parameters, await proofFor(key, issuer + path, options));
}

/** Presents a token under the scheme DPoP with a proof of the key. */
export async function present(
  { issuer }: Pick<TestService, 'issuer'>,
  path: string,
  token: string,
  key: ProofKey,
  { base = issuer, scheme = 'DPoP', ...options }: ProofOptions & { base?: string; scheme?: string } = {},
): Promise<Answer> {
  const dpop = await proofFor(key, issuer + path.replace(/\?.*/, ''), { method: 'GET', token, ...options });
  return read(
    await fetch(base + path, {
      method: options.method ?? 'GET',
      headers: { authorization: `${scheme} ${token}`, dpop },
    }),
  );
}

export async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}
