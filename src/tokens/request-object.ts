// Verifies request objects (RFC 9101, OpenID Connect Core 6), sent by value or fetched from a registered address, with the client's own keys.
import { decodeProtectedHeader, type JWTPayload, jwtVerify, UnsecuredJWT } from 'jose';
import { type ClientMetadata, requestObjectSigningAlgorithms } from '../oauth/client-metadata.ts';
import { profileOf } from '../oauth/fapi2.ts';
import { FetchRefused, type GuardedFetch } from '../outbound/guarded-fetch.ts';
import type { ClientKeys } from './client-keys.ts';
import { namesAreUnique, registeredName, TooManyCandidates, verifyWithKeys } from './client-signature.ts';

type RefusalCode =
  'invalid_request_object' | 'invalid_request_uri' | 'request_not_supported' | 'request_uri_not_supported';

/** The request object is refused. The message is for the client. */
export class RequestObjectRefused extends Error {
  readonly code: RefusalCode;
  /** The message of the underlying error, for the log only. It does not contain the content of the object. */
  readonly reason: string | undefined;
  constructor(code: RefusalCode, message: string, cause?: unknown) {
    super(message);
    this.code = code;
    this.reason = cause instanceof Error ? cause.message : undefined;
  }
}

export interface RequestObjectOptions {
  issuer: string;
  clientKeys: ClientKeys;
  fetchDocument: GuardedFetch;
  /** Whether clients that did not register an algorithm may send an object without a signature. */
  unsigned: boolean;
  now: () => Date;
  /** Marks the id of an object as used; false if it was used before. */
  useOnce: (clientId: string, jti: string, expiresAt: Date) => Promise<boolean>;
}

/** The properties of a client that verify its request objects. The secret is present if it is stored as a key. */
export interface SigningClient {
  clientId: string;
  metadata: ClientMetadata;
  secret: () => Buffer | undefined;
}

export type RequestObjects = ReturnType<typeof createRequestObjects>;

const grammar = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
const mediaTypes = ['application/oauth-authz-req+jwt', 'application/jwt', 'text/plain'];
const tolerance = 30; // seconds by which clocks may differ
const maxAge = 3600; // seconds, for a client with a FAPI 2.0 profile

/** @returns readers that throw RequestObjectRefused */
export function createRequestObjects(options: RequestObjectOptions) {
  const { issuer, clientKeys, fetchDocument, unsigned, now, useOnce } = options;
  const underWay = new Map<string, Promise<string>>();

  /** Fetches an address with one request at a time, however many browsers need it. */
  function fetchOnce(address: string): Promise<string> {
    const fetching = underWay.get(address) ?? fetchDocument(address, mediaTypes);
    underWay.set(address, fetching);
    const done = () => void (underWay.get(address) === fetching && underWay.delete(address));
    fetching.then(done, done);
    return fetching;
  }

  async function verify(object: string, client: SigningClient, byReference: boolean): Promise<JWTPayload> {
    const refuse: (message: string, cause?: unknown) => never = (message, cause) => {
      throw new RequestObjectRefused('invalid_request_object', message, cause);
    };
    if (!grammar.test(object)) refuse('the request object is not a signed JWT; encrypted ones are not supported');
    let payload: JWTPayload;
    try {
      const { alg: named, typ, crit, jku, jwk, x5u } = decodeProtectedHeader(object);
      const alg = registeredName(named);
      if (crit || jku || jwk || x5u) refuse('the header of the request object contains a member that is not allowed');
      if (!namesAreUnique(object)) refuse('the request object contains a repeated member');
      if (typ !== undefined && !/^((application\/)?oauth-authz-req\+jwt|JWT)$/i.test(typ))
        refuse('typ of the request object must be oauth-authz-req+jwt');
      const expected = client.metadata.request_object_signing_alg;
      if (!requestObjectSigningAlgorithms.some((known) => known === alg) || (expected && alg !== expected))
        refuse('the request object is not signed with the algorithm that the client registered');
      const { signatures } = profileOf(client.metadata);
      if (signatures && !signatures.includes(alg!))
        refuse(`FAPI 2.0 requires a request object that is signed with ${signatures.join(', ')}`);
      if (alg === 'none' && client.metadata.require_signed_request_object)
        refuse('the client must sign its request objects');
      // last: a client that must sign sent a wrong object (RFC 9101 10.2), while any other used what the service does not support
      if (alg === 'none' && !unsigned) {
        const code = byReference ? 'request_uri_not_supported' : 'request_not_supported';
        throw new RequestObjectRefused(code, 'request objects must be signed');
      }
      payload =
        alg === 'none'
          ? UnsecuredJWT.decode(object, { currentDate: now() }).payload
          : await verifySignature(object, alg!, client);
    } catch (error) {
      if (error instanceof RequestObjectRefused) throw error;
      if (error instanceof TooManyCandidates) return refuse(error.message);
      // a client's key or object can cause any error in the cryptography
      return refuse('the request object cannot be verified: check its signature, aud, iss and times', error);
    }
    const { iss, aud, sub, iat, jti } = payload;
    if ((iss ?? client.clientId) !== client.clientId) refuse('iss of the request object must be the client_id');
    if (![aud ?? issuer].flat().includes(issuer)) refuse('aud of the request object must be the issuer');
    // a client assertion is not an authorization request (RFC 9101 10.8)
    if (sub === client.clientId) refuse('a client assertion is not a request object');
    if (iat !== undefined && iat > now().getTime() / 1000 + tolerance)
      refuse('iat of the request object is in the future');
    if (jti !== undefined && typeof jti !== 'string') refuse('jti of the request object must be text');
    if (profileOf(client.metadata).hasTimedRequestObjects) await verifyTimes(payload, client.clientId, refuse);
    return payload;
  }

  /** The rules of FAPI 2.0 Message Signing 5.3.1; the times themselves were compared with the signature. */
  async function verifyTimes(
    { aud, nbf, exp, jti }: JWTPayload,
    clientId: string,
    refuse: (message: string) => never,
  ): Promise<void> {
    if (aud === undefined || nbf === undefined || exp === undefined)
      return refuse('the request object must have aud, nbf and exp');
    if (nbf < now().getTime() / 1000 - maxAge - tolerance) refuse('nbf of the request object is over an hour ago');
    if (exp > nbf + maxAge) refuse('exp of the request object is over an hour after nbf');
    if (jti !== undefined && !(await useOnce(clientId, jti, new Date((exp + tolerance) * 1000))))
      refuse('the request object was used before');
  }

  async function verifySignature(object: string, alg: string, client: SigningClient): Promise<JWTPayload> {
    const rules = {
      algorithms: [alg],
      issuer: client.clientId,
      audience: issuer,
      clockTolerance: tolerance,
      currentDate: now(),
    };
    if (alg !== 'HS256') return verifyWithKeys(object, (fresh) => clientKeys(client.metadata, fresh), rules);
    const secret = client.secret();
    if (!secret)
      throw new RequestObjectRefused(
        'invalid_request_object',
        'for HS256 register request_object_signing_alg HS256 and a client_secret',
      );
    return (await jwtVerify(object, secret, rules)).payload;
  }

  return {
    /** Verifies an object sent by value. */
    read: (object: string, client: SigningClient): Promise<JWTPayload> => verify(object, client, false),
    /** Fetches and verifies an object. The caller has checked that the client registered the address. */
    async fetch(uri: string, client: SigningClient): Promise<JWTPayload> {
      let object: string;
      try {
        // the fragment identifies a version of the object and is not sent
        object = await fetchOnce(uri.split('#')[0]!);
      } catch (error) {
        if (!(error instanceof FetchRefused)) throw error;
        throw new RequestObjectRefused('invalid_request_uri', 'no request object can be had at request_uri', error);
      }
      return verify(object.trim(), client, true);
    },
  };
}
