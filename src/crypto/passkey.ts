// Verifies new passkeys and their signatures (Web Authentication 7.1, 7.2): pure functions, and the only importer of the library.
import { z } from 'zod';

/** The identity of the service for browsers and authenticators. */
export interface RelyingParty {
  /** The host of the base address. */
  id: string;
  origin: string;
}

/** A new credential. */
export interface MadeCredential {
  credentialId: Buffer;
  /** A COSE_Key (RFC 9052 7). */
  publicKey: Buffer;
  signCount: number;
  transports: string[];
  aaguid: string;
  backupEligible: boolean;
  backedUp: boolean;
}

/** The stored facts of a credential that has to sign. */
export interface StoredCredential {
  publicKey: Buffer;
  transports: string[];
  backupEligible: boolean;
}

export interface AssertedUse {
  signCount: number;
  backedUp: boolean;
  userVerified: boolean;
}

/** Whether a challenge, in base64url, was issued to this browser for this purpose. */
export type ChallengeCheck = (challenge: string) => boolean;

/** The signature did not verify, or covers other data; the message is for the log. */
export class PasskeyRefused extends Error {}

// COSE algorithms: EdDSA, ES256, RS256 (Web Authentication 5.4, note on pubKeyCredParams)
export const signatureAlgorithms = [-8, -7, -257];

const bytes = z.string().regex(/^[A-Za-z0-9_-]+$/);
const transports = z.array(z.string().regex(/^[a-z-]{1,20}$/)).max(8);
const extensions = z
  .unknown()
  .optional()
  .transform(() => ({}));
const registration = z.object({
  id: bytes,
  rawId: bytes,
  type: z.literal('public-key'),
  clientExtensionResults: extensions,
  response: z.object({ clientDataJSON: bytes, attestationObject: bytes, transports: transports.catch([]) }),
});
const authentication = z.object({
  id: bytes,
  rawId: bytes,
  type: z.literal('public-key'),
  clientExtensionResults: extensions,
  response: z.object({
    clientDataJSON: bytes,
    authenticatorData: bytes,
    signature: bytes,
    userHandle: bytes.nullish().transform((handle) => handle ?? undefined),
  }),
});
/** A browser's answer with a new credential, in its JSON form (Web Authentication 5.1, toJSON). */
export type Registration = z.infer<typeof registration>;
/** A browser's answer with a signature. */
export type Authentication = z.infer<typeof authentication>;

export const readRegistration = (text: string): Registration | undefined => read(registration, text);
export const readAuthentication = (text: string): Authentication | undefined => read(authentication, text);

// loaded with the first passkey: it takes a quarter of a second, and memory
const library = () => import('@simplewebauthn/server');
const parts = () => import('@simplewebauthn/server/helpers');

/** @throws PasskeyRefused */
export async function verifyRegistration(
  { id, origin }: RelyingParty,
  response: Registration,
  isChallenge: ChallengeCheck,
): Promise<MadeCredential> {
  return refusing(async () => {
    await refuseStatements(response);
    const { verifyRegistrationResponse } = await library();
    const { verified, registrationInfo: info } = await verifyRegistrationResponse({
      response,
      expectedChallenge: isChallenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: signatureAlgorithms,
    });
    if (!verified) throw new PasskeyRefused('the signature of the attestation is wrong');
    const { credential, aaguid, credentialDeviceType, credentialBackedUp } = info;
    if (credential.id !== response.id) throw new PasskeyRefused('the credential is another than the browser says');
    return {
      credentialId: Buffer.from(credential.id, 'base64url'),
      publicKey: Buffer.from(credential.publicKey),
      signCount: credential.counter,
      transports: response.response.transports,
      aaguid,
      backupEligible: credentialDeviceType === 'multiDevice',
      backedUp: credentialBackedUp,
    };
  });
}

/**
 * Returns the sign count without comparing it: the repository does so when it stores the count.
 * @throws PasskeyRefused
 */
export async function verifyAuthentication(
  { id, origin }: RelyingParty,
  response: Authentication,
  stored: StoredCredential,
  isChallenge: ChallengeCheck,
  requireUserVerification: boolean,
): Promise<AssertedUse> {
  return refusing(async () => {
    const { verifyAuthenticationResponse } = await library();
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: isChallenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification,
      credential: { id: response.id, publicKey: new Uint8Array(stored.publicKey), counter: 0 },
    });
    if (!verified) throw new PasskeyRefused('the signature is wrong');
    // step 18: a credential is eligible for backup from its creation or never
    if ((info.credentialDeviceType === 'multiDevice') !== stored.backupEligible)
      throw new PasskeyRefused('the credential was made to be kept otherwise than it says now');
    return { signCount: info.newCounter, backedUp: info.credentialBackedUp, userVerified: info.userVerified };
  });
}

/**
 * No attestation is requested, so browsers remove it (Web Authentication 5.4.7). The library would fetch the revocation lists that its
 * certificates name, without the guarded fetcher (security R47).
 */
async function refuseStatements({ response }: Registration): Promise<void> {
  const { decodeAttestationObject } = await parts();
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(response.attestationObject, 'base64url')));
  const format = attestation.get('fmt');
  if (format !== 'none' && (format !== 'packed' || attestation.get('attStmt').get('x5c') !== undefined))
    throw new PasskeyRefused('there is an attestation, which was not requested');
}

/** Every error of the library is about the browser's answer, since the library has no other input. */
async function refusing<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof PasskeyRefused) throw error;
    throw new PasskeyRefused(error instanceof Error ? error.message.slice(0, 300) : 'it cannot be read', {
      cause: error,
    });
  }
}

function read<S extends z.ZodType>(shape: S, text: string): z.infer<S> | undefined {
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
