// Publishes the metadata of a connection by SAML, and reads and answers the requests that end a session (federation 9, FR19).
import { randomSecret } from '../../../crypto/secrets.ts';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import type { Connection } from '../../../entities/connections.ts';
import type { EndedUpstream } from '../../../repositories/connections/upstream-logouts.ts';
import { checkLogoutRequest, type LogoutRequest, logoutRequestName, logoutResponse } from '../../../saml/logout.ts';
import { serviceProviderMetadata } from '../../../saml/metadata.ts';
import { nameIdFormats, statusCodes } from '../../../saml/names.ts';
import { admitted, decoded } from '../../../saml/reader/bounds.ts';
import type { XmlElement } from '../../../saml/reader/elements.ts';
import { hasSignature, readSigned, readUnsigned } from '../../../saml/reader/signed.ts';
import { addressWith, decodedForm, readQuery, relayStateOf } from '../../../saml/redirect-binding.ts';
import { SamlRefused } from '../../../saml/refused.ts';
import { sessionName } from './identity.ts';
import { ownCertificate, ownKey } from './own-key.ts';
import { pinnedKeys, samlAddresses } from './saml.ts';
import { formatOf, type formats } from './settings.ts';

/** A verified request, or the state of a logout that began here and that the other side has answered. */
export type ReceivedLogout =
  | {
      logout: LogoutRequest;
      named: EndedUpstream[];
      /** Seconds for which a second use is detected. */
      lifetime: number;
      /** The registered address of the other side with our answer; undefined if none is registered. */
      answer: string | undefined;
    }
  | { answered: string | undefined };

export type SamlService = ReturnType<typeof createSamlService>;

/** Seconds for which a request is kept beyond its end, as clocks differ. */
const spare = 120;

export function createSamlService({
  secretBox,
  issuer,
  now,
}: {
  secretBox: SecretBox;
  issuer: string;
  now: () => Date;
}) {
  function received(connection: Connection, root: XmlElement, relayState: string | undefined): ReceivedLogout {
    const { id: connectionId, settings } = connection;
    const sender = String(settings['entity_id']);
    const logout = checkLogoutRequest(root, {
      sender,
      destination: samlAddresses(issuer, connectionId).logout,
      now: now(),
    });
    const { nameId, sessionIndexes, expiresAt } = logout;
    const of = (sid: string | undefined, subject: string | undefined): EndedUpstream => ({
      connectionId,
      issuer: sender,
      sid,
      subject,
    });
    const sessions = (sessionIndexes.length > 0 ? sessionIndexes : [undefined]).map((index) =>
      of(sessionName(nameId, index), undefined),
    );
    // a request that names no session ends all sessions of the user, where the name is the subject
    const isSubject = settings['subject_attribute'] === undefined && sessionIndexes.length === 0;
    return {
      logout,
      named: isSubject ? [of(undefined, nameId.value)] : sessions,
      lifetime: Math.ceil((expiresAt.getTime() - now().getTime()) / 1000) + spare,
      answer: answerTo(connection, logout.id, relayStateOf(relayState)),
    };
  }

  /** @throws ConnectionFailure if the connection has no key: then the request ends nothing either */
  function answerTo(connection: Connection, inResponseTo: string, relayState: string | undefined): string | undefined {
    const destination = connection.settings['slo_uri'];
    if (typeof destination !== 'string') return undefined;
    const xml = logoutResponse({
      id: `_${randomSecret()}`,
      issuer: samlAddresses(issuer, connection.id).entityId,
      destination,
      now: now(),
      inResponseTo,
      status: [statusCodes.success],
    });
    const key = ownKey(secretBox, connection).privateKey;
    return addressWith(destination, { name: 'SAMLResponse', xml, relayState }, key);
  }

  return {
    /** Refuses what the reader does not admit, before it is kept. @throws SamlRefused */
    admit: (posted: string): void => void admitted(decoded(decodedForm(posted))),
    /** The metadata of this service for the identity provider; undefined before the connection has a key. */
    metadata(connection: Connection): string | undefined {
      const certificate = ownCertificate(connection);
      if (certificate === undefined) return undefined;
      const { entityId, consumer, logout } = samlAddresses(issuer, connection.id);
      const format = formatOf((connection.settings['name_id_format'] ?? 'any') as (typeof formats)[number]);
      return serviceProviderMetadata({
        entityId,
        signing: [certificate],
        encryption: [certificate],
        consumerUri: consumer,
        logoutUri: logout,
        signsRequests: connection.settings['sign_requests'] !== false,
        nameIdFormats: format === undefined ? Object.values(nameIdFormats) : [format],
      });
    },
    /** @param query as it came, without the question mark @throws SamlRefused */
    readLogoutQuery(connection: Connection, query: string): ReceivedLogout {
      const { name, message, relayState, signed } = readQuery(query, pinnedKeys(connection));
      // the answer to a logout that began here changes nothing: only the browser that began it continues
      if (name === 'SAMLResponse') return { answered: relayState };
      if (!signed) throw new SamlRefused('signature', 'no pinned key signed the query');
      const root = readUnsigned(message, logoutRequestName);
      if (hasSignature(root)) throw new SamlRefused('form', 'the message has a signature inside');
      return received(connection, root, relayState);
    },
    /** @throws SamlRefused */
    readLogoutForm(connection: Connection, posted: string, relayState: string | undefined): ReceivedLogout {
      const root = readSigned(decodedForm(posted), pinnedKeys(connection), logoutRequestName);
      return received(connection, root, relayState);
    },
  };
}
