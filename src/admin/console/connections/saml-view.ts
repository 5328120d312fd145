// Shows what the page of a connection by SAML has beside: addresses, pinned keys, and what the identity provider has published since.
import type { Connection } from '../../../entities/connections.ts';
import { ownCertificate } from '../../../domain/connections/saml/own-key.ts';
import { publishedDigest, waitingProvider } from '../../../domain/connections/saml/provider-metadata.ts';
import { samlAddresses } from '../../../domain/connections/saml/saml.ts';
import type { CertificateView, ConnectionPages, SamlAddresses } from '../../../pages/views/connections.ts';
import { readCertificate } from '../../../saml/certificates.ts';
import type { AdminSession } from '../admin-session.ts';

export const metadataPathOf = (id: string): string => `/admin/connections/${id}/metadata`;

export function shownAddresses(issuer: string, id: string): SamlAddresses {
  const { entityId, consumer, logout } = samlAddresses(issuer, id);
  return { metadata: entityId, acs: consumer, logout };
}

const pinnedIn = ({ settings }: Connection): string[] => (settings['certificates'] ?? []) as string[];

const certificateViews = (all: readonly string[]): CertificateView[] =>
  all.flatMap((pem) => {
    const read = readCertificate(pem);
    return read ? [{ fingerprint: read.fingerprint, notAfter: read.notAfter }] : [];
  });

export function samlViews(
  admin: AdminSession,
  connection: Connection,
  issuer: string,
): Pick<ConnectionPages['console-connection'], 'saml' | 'published'> {
  if (connection.kind !== 'saml') return {};
  const { id } = connection;
  const own = ownCertificate(connection);
  const waiting = waitingProvider(connection);
  const ownEnds = own === undefined ? undefined : readCertificate(own)?.notAfter;
  return {
    saml: {
      addresses: shownAddresses(issuer, id),
      certificates: certificateViews(pinnedIn(connection)),
      ...(ownEnds && { ownEnds }),
      ...(typeof connection.settings['metadata_uri'] === 'string' && { readForm: admin.form(metadataPathOf(id)) }),
    },
    ...(waiting && { published: publishedView(admin, connection, waiting) }),
  };
}

function publishedView(
  admin: AdminSession,
  connection: Connection,
  waiting: NonNullable<ReturnType<typeof waitingProvider>>,
): NonNullable<ConnectionPages['console-connection']['published']> {
  const form = admin.form(metadataPathOf(connection.id));
  const before = certificateViews(pinnedIn(connection)).map(({ fingerprint }) => fingerprint);
  return {
    entityId: waiting.entity_id,
    ssoUri: waiting.sso_uri,
    ...(waiting.slo_uri !== undefined && { sloUri: waiting.slo_uri }),
    certificates: certificateViews(waiting.certificates).map((one) => ({
      ...one,
      isNew: !before.includes(one.fingerprint),
    })),
    form: { ...form, hidden: { ...form.hidden, digest: publishedDigest({ ...waiting }) } },
  };
}
