// Signs users in by SAML 2.0, as a service provider: asks by a redirect, and verifies the answer that is posted (federation 9).
import type { KeyObject } from 'node:crypto';
import { digest, randomSecret } from '../../../crypto/secrets.ts';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import type { Connection } from '../../../entities/connections.ts';
import type { GuardedFetch } from '../../../outbound/guarded-fetch.ts';
import type { Store } from '../../../repositories/store.ts';
import { readCertificate } from '../../../saml/certificates.ts';
import { logoutRequest } from '../../../saml/logout.ts';
import type { NameId } from '../../../saml/message.ts';
import { ns, statusCodes } from '../../../saml/names.ts';
import { readResponse } from '../../../saml/reader/response.ts';
import { readUnsigned } from '../../../saml/reader/signed.ts';
import { addressWith, decodedForm } from '../../../saml/redirect-binding.ts';
import { SamlRefused } from '../../../saml/refused.ts';
import { checkAnswer, failedStatus, type SamlAnswer } from '../../../saml/service-provider/answer.ts';
import { authnRequest } from '../../../saml/service-provider/authn-request.ts';
import {
  ConnectionFailure,
  type ConnectionKey,
  type ConnectionKind,
  variantOf,
  type VerifiedIdentity,
} from '../kind.ts';
import { identityOf } from './identity.ts';
import { isKeyOf, makeSamlKey, ownKey } from './own-key.ts';
import { checkPinned, fetchProvider, metadataRefused, providerIn, waitingProvider } from './provider-metadata.ts';
import { formatOf, pinnedIn, type SamlSettings, samlSettingsFor } from './settings.ts';

export interface SamlOptions {
  store: Pick<Store, 'upstreamLogouts'>;
  secretBox: SecretBox;
  fetchDocument: GuardedFetch;
  /** OUTBOUND_ALLOW */
  allowed: readonly string[];
  /** The issuer of this service, below which the addresses of a connection are. */
  issuer: string;
  now: () => Date;
}

/** The addresses of a connection. The first is also the entity id of this service at that identity provider. */
export function samlAddresses(issuer: string, id: string) {
  const below = `${issuer}/connections/${id}/saml`;
  return { entityId: `${below}/metadata`, consumer: `${below}/acs`, logout: `${below}/logout` };
}

/** The keys by which the identity provider signs: the pinned ones, and no other (federation FR22). */
export const pinnedKeys = ({ settings }: Pick<Connection, 'settings'>): KeyObject[] =>
  ((settings['certificates'] ?? []) as string[]).flatMap((pem) => readCertificate(pem)?.publicKey ?? []);

/** The id of the request whose nonce this is. An id does not begin with a digit (XML Schema NCName). */
const requestIdOf = (nonce: string): string => `_${nonce}`;

/** Seconds for which a used assertion is kept beyond its end, as clocks differ. */
const spare = 120;

/** @param makeKey makes the key of a new connection */
export const samlVariant = (allowed: readonly string[], makeKey: () => Promise<ConnectionKey>) =>
  variantOf(samlSettingsFor(allowed), {
    starts: { username_from: 'name_id' },
    profile: (settings) => ({
      settings,
      issuer: settings.entity_id,
      credential: settings.own_certificate === undefined ? ('key' as const) : ('secret' as const),
      // few identity providers state whether an address is verified (federation 4)
      wordCounts: false,
      isPosted: true,
      acceptsUnsolicited: settings.idp_initiated,
      keepsSecret: true,
    }),
    isSecret: async (secret, settings) => isKeyOf(secret, settings['own_certificate']),
    secretRefusal: 'connection.saml-key-form',
    makeKey,
  });

export function createSamlKind({ store, secretBox, fetchDocument, allowed, issuer, now }: SamlOptions): ConnectionKind {
  const variant = samlVariant(allowed, () => makeSamlKey(new URL(issuer).host, now()));

  function settingsOf(connection: Pick<Connection, 'settings'>): SamlSettings & { entity_id: string; sso_uri: string } {
    const { settings } = variant.profile(connection.settings);
    const { entity_id, sso_uri } = settings;
    if (entity_id === undefined || sso_uri === undefined)
      throw new ConnectionFailure('settings', 'the identity provider is not known');
    return { ...settings, entity_id, sso_uri };
  }

  /** Fails for an answer of the identity provider that says that no user has signed in. @throws ConnectionFailure, SamlRefused */
  function admitStatus(message: Uint8Array, requestId: string | undefined): void {
    const response = readUnsigned(message, { namespace: ns.protocol, name: 'Response' });
    const failed = failedStatus(response);
    if (!failed) return;
    if (response.attributes.get('InResponseTo') !== requestId)
      throw new ConnectionFailure('answer', 'the status belongs to another request');
    const { authnFailed, requestDenied, noPassive, responder } = statusCodes;
    if ([authnFailed, requestDenied, noPassive].some((code) => code === failed.inner))
      throw new ConnectionFailure('cancelled', 'the status says that the user did not sign in');
    throw new ConnectionFailure(failed.code === responder ? 'answer' : 'settings', 'the status is not Success');
  }

  async function verified(
    connection: Connection,
    posted: string | undefined,
    requestId: string | undefined,
  ): Promise<VerifiedIdentity> {
    const settings = settingsOf(connection);
    const { entityId: audience, consumer } = samlAddresses(issuer, connection.id);
    try {
      const message = decodedForm(posted ?? '');
      admitStatus(message, requestId);
      const read = await readResponse(message, pinnedKeys(connection), [ownKey(secretBox, connection).privateKey]);
      const { entity_id: entityId } = settings;
      const answer = checkAnswer(read, { entityId, audience, consumerUri: consumer, requestId, now: now() });
      const identity = identityOf(connection, settings, answer, { audience, now: now() });
      await useOnce(connection, answer);
      return identity;
    } catch (error) {
      if (!(error instanceof SamlRefused)) throw error;
      throw new ConnectionFailure('answer', `the response: ${error.message}`, error);
    }
  }

  /** An assertion signs in once, whoever brings it and whichever request it answers (federation FR26). @throws ConnectionFailure */
  async function useOnce({ id }: Connection, { assertionId, expiresAt }: SamlAnswer): Promise<void> {
    const lifetime = Math.ceil((expiresAt.getTime() - now().getTime()) / 1000) + spare;
    if (!(await store.upstreamLogouts.use(id, digest('saml assertion', assertionId), lifetime)))
      throw new ConnectionFailure('answer', 'the assertion was used before');
  }

  return {
    kind: 'saml',
    variant: (preset) => (preset === undefined ? variant : undefined),
    async complete(given, { before, accepted }) {
      const { metadata, ...settings } = given;
      const uri = settings['metadata_uri'];
      const isOther =
        typeof uri === 'string' && (uri !== before?.settings['metadata_uri'] || settings['entity_id'] === undefined);
      const waiting = before && accepted ? waitingProvider(before) : undefined;
      const provider =
        typeof metadata === 'string'
          ? providerIn(metadata, 'metadata')
          : (waiting ?? (isOther ? await fetchProvider(fetchDocument, uri) : undefined));
      // what the new metadata does not have must not stay from the one before
      const { slo_uri: logoutUri, ...others } = settings;
      const own = logoutUri === undefined ? {} : { slo_uri: logoutUri };
      const all: Record<string, unknown> = provider ? { ...others, ...provider } : { ...others, ...own };
      checkPinned(all, (before?.settings['certificates'] ?? []) as string[], now());
      const read = variant.shape.safeParse(all);
      // the rules of settings hold for what is published, too: no address leads a browser to a script, or without encryption
      if (!read.success) throw metadataRefused(typeof metadata === 'string' ? 'metadata' : 'metadata_uri', read.error);
      return read.data;
    },
    discover: async ({ settings }) => pinnedIn(settings),
    async reread({ settings }) {
      const uri = settings['metadata_uri'];
      return typeof uri === 'string' ? fetchProvider(fetchDocument, uri) : undefined;
    },
    async begin(connection, { nonce, state }, wishes) {
      const settings = settingsOf(connection);
      const { entityId, consumer } = samlAddresses(issuer, connection.id);
      const xml = authnRequest({
        id: requestIdOf(nonce),
        issuer: entityId,
        destination: settings.sso_uri,
        consumerUri: consumer,
        nameIdFormat: formatOf(settings.name_id_format),
        forceAuthn: wishes.login || wishes.maxAge !== undefined,
        now: now(),
      });
      const key = settings.sign_requests ? ownKey(secretBox, connection).privateKey : undefined;
      return addressWith(settings.sso_uri, { name: 'SAMLRequest', xml, relayState: state }, key);
    },
    finish: (connection, { nonce }, answer) => verified(connection, answer['SAMLResponse'], requestIdOf(nonce)),
    finishUnsolicited: (connection, answer) => verified(connection, answer['SAMLResponse'], undefined),
    async endSession(connection, { state, idToken }) {
      const settings = settingsOf(connection);
      if (settings.slo_uri === undefined || idToken === undefined) return undefined;
      const { nameId, sessionIndex } = JSON.parse(idToken) as { nameId: NameId; sessionIndex?: string };
      const xml = logoutRequest({
        id: `_${randomSecret()}`,
        issuer: samlAddresses(issuer, connection.id).entityId,
        destination: settings.slo_uri,
        now: now(),
        nameId,
        sessionIndex,
      });
      const key = ownKey(secretBox, connection).privateKey;
      return addressWith(settings.slo_uri, { name: 'SAMLRequest', xml, relayState: state }, key);
    },
  };
}
