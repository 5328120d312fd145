// Starts the jobs of an instance: the channels of what goes out, and the refresh of its keys and caches.
import type { ConnectionRouting } from '../authenticators/connection/routing.ts';
import type { Logger } from 'pino';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { ClientDocuments } from '../domain/client-documents/client-documents.ts';
import type { DirectoryImports } from '../domain/connections/ldap/import.ts';
import type { SamlMetadataWatch } from '../domain/connections/saml/metadata-watch.ts';
import type { HourlyGrants } from '../domain/audit/hourly-grants.ts';
import type { NotedUses } from '../repositories/uses/noted-uses.ts';
import type { AppearanceService } from '../domain/appearance/appearance.ts';
import type { PublicResourcesService } from '../domain/resources/public-resources.ts';
import type { MailTransport } from '../outbound/mail-transport.ts';
import { createAuditSink } from '../outbound/audit-sink.ts';
import { createGuardedExchange, createGuardedSend } from '../outbound/guarded-fetch.ts';
import type { PageRenderer } from '../pages/renderer.ts';
import type { ClientCache } from '../repositories/clients/client-cache.ts';
import type { Limits } from '../domain/rate-limits/rate-limits.ts';
import type { Store } from '../repositories/store.ts';
import type { KeyRing } from '../tokens/key-ring.ts';
import type { TokenService } from '../tokens/token-service.ts';
import { accessChannel } from './access-channel.ts';
import { startAuditStream } from './audit-stream.ts';
import { startDirectoryImports } from './directory-import.ts';
import { startDocumentRefetch } from './document-refetch.ts';
import { eventChannel } from './event-channel.ts';
import { createMailComposition } from './mail-composition.ts';
import { type LogoutChannelOptions, logoutChannel } from './logout-channel.ts';
import { mailChannel } from './mail-channel.ts';
import { pingChannel } from './ping-channel.ts';
import { startSamlMetadata } from './saml-metadata.ts';
import { type Channel, startChannel } from './channel.ts';
import { provisioningChannel } from './provisioning-channel.ts';
import { targetChannel } from './target-channel.ts';
import { webhookChannel } from './webhook-channel.ts';

interface JobDependencies {
  config: Config;
  database: Database;
  logger: Logger;
  store: Store;
  clients: ClientCache;
  tokens: TokenService;
  keyRing: KeyRing;
  secretBox: SecretBox;
  limits: Limits;
  hourlyGrants: HourlyGrants;
  uses: NotedUses;
  clientDocuments: ClientDocuments;
  directoryImports: DirectoryImports;
  samlMetadata: SamlMetadataWatch;
  renderer: PageRenderer;
  appearance: AppearanceService;
  connectionRouting: ConnectionRouting;
  publicResources: PublicResourcesService;
  mailTransport: MailTransport;
  post: LogoutChannelOptions['post'];
}

const keyInterval = 30_000; // milliseconds
/** The nouns of which the metadata of the service says something. */
const inMetadata = ['resources', 'client', 'exchange_policies', 'trusted_issuers', 'authorization_details_types'];

/** @returns the function that stops them */
export function startJobs(dependencies: JobDependencies): { stop(): Promise<void> } {
  const { config, database, logger, store, clients, tokens, keyRing, appearance, publicResources, post } = dependencies;
  const { lifetimes } = config;
  const { secretBox } = dependencies;
  let stopping = false;
  const stopped = new AbortController();
  const send = createGuardedSend(config.outboundAllow);
  const exchange = createGuardedExchange(config.outboundAllow);
  const transport = dependencies.mailTransport;
  if (transport.kind === 'smtp') logger.info({ server: transport.place }, 'mail is sent through the mail server');
  else logger.info({ folder: transport.place }, 'SMTP_URL is not set: mail is not sent, but written to a folder');
  const composition = createMailComposition(dependencies);
  const retention = lifetimes.backchannelLogoutRetention;
  const start = <Row>(channel: Channel<Row>) => ({ name: channel.name, ...startChannel(channel, store, logger) });
  const channels = [
    start(accessChannel(store, logger)),
    start(eventChannel(store)),
    start(mailChannel({ store, composition, transport, logger })),
    start(logoutChannel({ store, tokens, post, retention, logger })),
    start(webhookChannel({ store, secretBox, send, logger, stopped: stopped.signal })),
    start(provisioningChannel(store)),
    ...(config.ciba ? [start(pingChannel({ store, secretBox, send, logger, stopped: stopped.signal }))] : []),
    start(targetChannel({ store, secretBox, exchange, logger, stopped: stopped.signal })),
  ];

  const documents = config.clientDocuments === 'off' ? [] : [startDocumentRefetch(dependencies)];

  const samlMetadata = startSamlMetadata(dependencies);

  const streams: { stop(): Promise<void> }[] = [];
  if (config.auditStream.url !== undefined) {
    const { url, token, ca } = config.auditStream;
    const sink = createAuditSink({ url, token, ca, allowed: config.outboundAllow }, send);
    streams.push(startAuditStream({ store, sink, logger }));
  }

  const directories = config.connectionsAllow.length === 0 ? undefined : startDirectoryImports(dependencies);

  async function refreshKeys(): Promise<void> {
    try {
      await keyRing.refresh();
      await keyRing.rotateDue({ interval: lifetimes.keyRotationInterval, lead: lifetimes.keyPublicationLead });
    } catch (error) {
      // a stop or a failed start closes the database while this work runs
      if (!stopping) logger.error({ err: error }, 'the keys could not be read or rotated');
    }
  }
  async function refreshAppearance(): Promise<void> {
    try {
      await appearance.refresh();
    } catch (error) {
      if (!stopping) logger.error({ err: error }, 'the appearance could not be read');
    }
  }
  async function refreshPublicResources(): Promise<void> {
    try {
      await publicResources.refresh();
    } catch (error) {
      if (!stopping) logger.error({ err: error }, 'the public resources could not be read');
    }
  }
  // a notification without a payload means that some notifications were lost
  database.listen('gatehouse', (payload) => {
    const [kind, id] = payload?.split(' ') ?? [];
    if (kind === undefined || kind === 'client') clients.forget(id);
    if (kind === undefined || kind === 'keys') void refreshKeys();
    if (kind === undefined || kind === 'appearance') void refreshAppearance();
    // the resource of a disabled client is not shown
    if (kind === undefined || inMetadata.includes(kind)) void refreshPublicResources();
    if (kind === undefined || kind === 'import') directories?.wake();
    for (const channel of channels) if (kind === undefined || kind === channel.name) channel.wake();
  });
  const timer = setInterval(() => void refreshKeys(), keyInterval);
  return {
    async stop() {
      stopping = true;
      stopped.abort();
      clearInterval(timer);
      await Promise.all(
        [
          ...channels,
          ...documents,
          samlMetadata,
          ...streams,
          ...(directories ? [directories] : []),
          dependencies.hourlyGrants,
          dependencies.uses,
        ].map((each) => each.stop()),
      );
    },
  };
}
