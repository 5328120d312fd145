// The commands for clients.
import { randomId } from '../crypto/secrets.ts';
import { clientView } from '../domain/administrator-views.ts';
import { acrValues } from '../oauth/acr.ts';
import { type ClientMetadata, parseClientMetadata } from '../oauth/client-metadata.ts';
import { notFound } from '../oauth/errors.ts';
import type { Administration } from '../domain/administration/administration.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Store } from '../repositories/store.ts';
import { clientSecrets, newCredentials, renewedSecrets, type ShownCredentials } from '../tokens/client-credentials.ts';
import {
  by,
  type Command,
  harmless,
  listLimit,
  type Output,
  parse,
  table,
  UsageError,
  withDatabase,
} from './command.ts';

export const clientCommands: Record<string, Command> = {
  'client list': {
    usage: '[--status disabled|enabled] [--waiting] [--search "WORDS"]',
    summary:
      'Lists the newest clients, or of those the ones that wait for a decision, or whose name, id or redirect hosts have words that begin so.',
    async run(config, args) {
      const { values } = parse(args, {
        status: { type: 'string' },
        waiting: { type: 'boolean', default: false },
        search: { type: 'string' },
      });
      const { status, waiting, search } = values;
      if (status !== undefined && status !== 'disabled' && status !== 'enabled')
        throw new UsageError('--status takes disabled or enabled.');
      const clients = await withDatabase(config, ({ store }) =>
        store.clients.list({ status, waiting, search }, { limit: listLimit, after: undefined }),
      );
      return {
        json: clients.map(clientView),
        text: table(
          ['CLIENT_ID', 'STATUS', 'WAITS', 'NAME', 'REDIRECT_URI'],
          clients.map((client) => [
            client.clientId,
            client.status,
            waits(client),
            client.metadata.client_name ?? '',
            client.metadata.redirect_uris[0] ?? '',
          ]),
        ),
      };
    },
  },
  'client show': {
    usage: 'ID',
    summary: 'Shows a client with what waits for approval.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['ID']);
      const client = await withDatabase(config, ({ store }) => findClient(store, positionals[0]!));
      return { json: clientView(client), text: describe(client) };
    },
  },
  'client approve': {
    usage: 'ID …',
    summary: 'Prints each client, then enables it; of one that is enabled it approves the change that waits.',
    async run(config, args) {
      const { positionals: ids } = parse(args, {}, ['ID …']);
      return withDatabase(config, async ({ store, administration }) => {
        if (ids.length > 1) return decideSeveral(store, administration, ids, undefined);
        const seen = await findClient(store, ids[0]!);
        const client = await administration.approveClient(by, seen.clientId, seen.version);
        return { json: clientView(client), text: `${describe(seen)}\n\n${approved(seen, client)}` };
      });
    },
  },
  'client refuse': {
    usage: 'ID … --reason TEXT',
    summary: 'Refuses what waits for approval, of each client; the registrants can read the reason.',
    async run(config, args) {
      const { values, positionals: ids } = parse(args, { reason: { type: 'string' } }, ['ID …']);
      const reason = values.reason?.trim();
      if (!reason || reason.length > 1000) throw new UsageError('--reason takes a text of up to 1000 characters.');
      return withDatabase(config, async ({ store, administration }) => {
        if (ids.length > 1) return decideSeveral(store, administration, ids, reason);
        const seen = await findClient(store, ids[0]!);
        const client = await administration.refuseClient(by, seen.clientId, seen.version, reason);
        return { json: clientView(client), text: `What waited of the client ${client.clientId} is refused: ${reason}` };
      });
    },
  },
  'client disable': {
    usage: 'ID',
    summary: 'Disables a client and ends all sessions and tokens of it.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['ID']);
      const { client, changed } = await withDatabase(config, ({ administration }) =>
        administration.disableClient(by, positionals[0]!),
      );
      return {
        json: clientView(client),
        text: changed
          ? `The client ${client.clientId} is disabled; all sessions and tokens of it are dead.`
          : `The client ${client.clientId} was disabled before: nothing changed.`,
      };
    },
  },
  'client new-secret': {
    usage: 'ID [--secret client_secret|shared_secret|registration_access_token …]',
    summary: 'Makes new secrets for a client, all or those named, and prints them; the old ones stop working at once.',
    async run(config, args) {
      const { values, positionals } = parse(args, { secret: { type: 'string', multiple: true, default: [] } }, ['ID']);
      const wanted = clientSecrets.filter((secret) => values.secret.includes(secret));
      if (values.secret.some((secret) => !(clientSecrets as readonly string[]).includes(secret)))
        throw new UsageError(`--secret takes ${clientSecrets.join(', ')}.`);
      return withDatabase(config, async ({ administration, secretBox }) => {
        let shown: Partial<ShownCredentials> = {};
        const { clientId } = await administration.renewSecrets(by, positionals[0]!, (client) => {
          const renewed = renewedSecrets(secretBox, client, wanted.length > 0 ? wanted : undefined);
          shown = renewed.shown;
          return renewed.credentials;
        });
        const credentials = credentialsOf(clientId, shown);
        return {
          json: credentials,
          text: `The client ${clientId} has new secrets, which are shown once; the old ones work no more:\n${lines(credentials)}`,
        };
      });
    },
  },
  'client require-acr': {
    usage: 'ID LEVEL',
    summary: 'Demands a level of authentication (acr) of those who sign in to a client; none, to demand it no longer.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['ID', 'LEVEL']);
      const requiredAcr = positionals[1] === 'none' ? null : readLevel(positionals[1]);
      const client = await withDatabase(config, ({ administration }) =>
        administration.changeClient(by, positionals[0]!, () => ({ requiredAcr })),
      );
      return {
        json: clientView(client),
        text:
          requiredAcr === null
            ? `The client ${client.clientId} demands no level of authentication any more.`
            : `Whoever signs in to the client ${client.clientId} has to reach ${requiredAcr}.`,
      };
    },
  },
  'client create': {
    usage:
      '--name N [--redirect-uri U …] [--post-logout-redirect-uri U …] [--application-type web|native] [--grant-type G …] [--scope "…"] [--auth-method M] [--id-token-claims] [--first-party] [--required-acr LEVEL]',
    summary:
      'Makes a client, enabled at once, and prints its credentials; with --grant-type client_credentials --scope admin: the key to the admin routes.',
    async run(config, args) {
      const { values } = parse(args, {
        name: { type: 'string' },
        'redirect-uri': { type: 'string', multiple: true, default: [] },
        'post-logout-redirect-uri': { type: 'string', multiple: true, default: [] },
        'application-type': { type: 'string' },
        'grant-type': { type: 'string', multiple: true, default: [] },
        scope: { type: 'string' },
        'auth-method': { type: 'string' },
        'id-token-claims': { type: 'boolean', default: false },
        'first-party': { type: 'boolean', default: false },
        'required-acr': { type: 'string' },
      });
      const requiredAcr = readLevel(values['required-acr']);
      if (values.name === undefined) throw new UsageError('The option --name is missing.');
      const redirects = values['redirect-uri'];
      const metadata: ClientMetadata = parseClientMetadata(
        {
          client_name: values.name,
          redirect_uris: redirects,
          ...(values['post-logout-redirect-uri'].length > 0 && {
            post_logout_redirect_uris: values['post-logout-redirect-uri'],
          }),
          grant_types:
            values['grant-type'].length > 0
              ? values['grant-type']
              : redirects.length > 0
                ? ['authorization_code', 'refresh_token']
                : ['client_credentials'],
          ...(values['application-type'] !== undefined && { application_type: values['application-type'] }),
          ...(values.scope !== undefined && { scope: values.scope }),
          ...(values['auth-method'] !== undefined && { token_endpoint_auth_method: values['auth-method'] }),
          id_token_claims: values['id-token-claims'],
        },
        { admin: true },
        config,
      );
      const clientId = randomId();
      return withDatabase(config, async ({ administration, secretBox }) => {
        const { stored, shown } = newCredentials(secretBox, clientId, metadata);
        const client = await administration.createClient(
          by,
          {
            clientId,
            metadata,
            status: 'enabled',
            approvedBy: 'administrator',
            firstParty: values['first-party'],
            ...stored,
          },
          { requiredAcr },
        );
        const credentials = credentialsOf(clientId, shown);
        return {
          json: { ...clientView(client), ...credentials },
          text: `The client ${values.name} is made and enabled. Its credentials are shown once:\n${lines(credentials)}\n\nIssuer: ${config.issuer}`,
        };
      });
    },
  },
};

/** What an approval did. */
function approved(seen: Client, client: Client): string {
  if (client.pendingMetadata)
    return `The client is enabled as it was approved before. Its change (pending_changes) is not approved: run client approve ${client.clientId} again to approve it, or client refuse.`;
  if (client.uncollected) return 'This is approved: the client is enabled when it collects its credentials.';
  return seen.pendingMetadata
    ? 'This is approved: what stands under pending_changes is in force.'
    : 'This is approved: the client is enabled.';
}

/** Decides about several clients, each as it is just now and by itself. @param reason refuses them */
async function decideSeveral(
  store: Store,
  administration: Administration,
  clientIds: string[],
  reason: string | undefined,
): Promise<Output> {
  const seen: Client[] = [];
  for (const clientId of clientIds) seen.push(await findClient(store, clientId));
  const outcomes = await administration.decideClients(by, seen, reason);
  const words = {
    decided: reason === undefined ? 'approved' : 'refused',
    changed: 'nothing was done: nothing waits, or it changed just now',
    held: 'nothing was done: another client holds one of its resource_uris',
    gone: 'is gone',
  };
  const rows = outcomes.map(({ clientId, outcome }, index) => [
    clientId,
    // of one that is enabled just now the change goes on waiting
    outcome === 'decided' && reason === undefined && seen[index]!.status === 'disabled' && seen[index]!.pendingMetadata
      ? 'enabled; its change still waits'
      : words[outcome],
    seen[index]!.metadata.client_name ?? '',
    seen[index]!.metadata.redirect_uris[0] ?? '',
  ]);
  return {
    json: outcomes.map(({ clientId, outcome }) => ({ client_id: clientId, outcome })),
    text: table(['CLIENT_ID', 'OUTCOME', 'NAME', 'REDIRECT_URI'], rows),
    code: outcomes.every(({ outcome }) => outcome === 'decided') ? 0 : 1,
  };
}

/** @throws UsageError for what is no level */
function readLevel(value: string | undefined): string | undefined {
  if (value !== undefined && !acrValues.includes(value))
    throw new UsageError(`A level of authentication is one of ${acrValues.join(', ')}.`);
  return value;
}

function credentialsOf(clientId: string, shown: Partial<ShownCredentials>) {
  return {
    client_id: clientId,
    client_secret: shown.clientSecret,
    shared_secret: shown.sharedSecret,
    registration_access_token: shown.registrationAccessToken,
  };
}

function lines(credentials: Record<string, string | undefined>): string {
  return Object.entries(credentials)
    .flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(26)}${value}`]))
    .join('\n');
}

/** What somebody still has to do: the administrator, or the client itself. */
function waits(client: Client): string {
  if (client.pendingMetadata) return 'changes';
  if (client.selfRegistered && client.status === 'disabled' && !client.approvedBy) return 'approval';
  return client.uncollected ? 'collection' : '';
}

async function findClient(store: Store, clientId: string): Promise<Client> {
  const client = await store.clients.find(clientId);
  if (!client) throw notFound(`there is no client ${clientId}`);
  return client;
}

function describe(client: Client): string {
  return Object.entries(clientView(client))
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name.padEnd(32)}${harmless(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join('\n');
}
