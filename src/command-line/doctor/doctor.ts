// Defines the command that looks at a running service, and says in one screen what is wrong and what to do about it.
import pino from 'pino';
import { harmless } from '../../admin/operations/text-table.ts';
import { atService, type Config } from '../../config.ts';
import { installedVersion } from '../../config/version.ts';
import { randomSecret } from '../../crypto/secrets.ts';
import { onlyReading } from '../../database/only-reading.ts';
import { openServiceDatabase, type ServiceDatabase } from '../../database/service-database.ts';
import { sendProbe } from '../../outbound/probe-request.ts';
import { createStore, type Store } from '../../repositories/store.ts';
import { type Command, type Output, parse } from '../command.ts';
import { type Finding, type Place, type Probe, type State, unavailable } from './check.ts';
import { checks } from './checks.ts';
import { longState } from './issuer.ts';

interface Line extends Finding {
  check: string;
}

const codes: Record<State, 0 | 1 | 2> = { ok: 0, warning: 1, fault: 2 };

export const doctorCommands: Record<string, Command> = {
  doctor: {
    usage: '',
    summary:
      'Looks at the service, its database and its surroundings, and says what to do about what is wrong. It changes nothing. It exits with 0, with 1 if there are warnings, or with 2 if something does not work.',
    async run(shell, args) {
      parse(args, {});
      return outputOf(await examine(shell));
    },
    refused: (sentence) =>
      outputOf([{ check: 'settings', state: 'fault', says: sentence.replace(/\.$/, ''), todo: 'Correct it.' }]),
  },
};

/** Runs every check on the service of these settings. */
async function examine(shell: Config): Promise<Line[]> {
  // a server that is nearly full still lets it look
  const few = { ...shell, databasePoolSize: 2 };
  const connection = await openServiceDatabase(few, pino({ level: 'silent' }), { create: false });
  try {
    const place = await placeOf(shell, connection);
    const found = await Promise.all(checks.map((check) => check.examine(place)));
    const lines = found.flatMap((findings, index) => findings.map((one) => ({ check: checks[index]!.name, ...one })));
    return joined(lines);
  } finally {
    await connection.close();
  }
}

/** Makes one line of all checks that could not ask the database. */
function joined(lines: readonly Line[]): Line[] {
  const [looked, left] = [true, false].map((isLooked) =>
    lines.filter(({ says }) => (says !== unavailable.says) === isLooked),
  ) as [Line[], Line[]];
  if (left.length < 2) return [...lines];
  const names = left.map(({ check }) => check).join(', ');
  return [...looked, { ...unavailable, check: 'others', says: `${unavailable.says}: ${names}` }];
}

async function placeOf(shell: Config, connection: ServiceDatabase): Promise<Place> {
  const store = createStore(onlyReading(connection.database, 'doctor_probes.'));
  // a database that does not answer, or has no tables, is what checks are for
  const service = await store.serviceSettings.read().catch(() => undefined);
  const settings = service
    ? atService(shell, service.settings)
    : { config: shell, overruled: [] as string[], hasMailServer: true };
  const { issuer } = settings.config;
  return {
    ...settings,
    version: service?.version,
    installed: installedVersion(),
    kind: connection.kind,
    store,
    secretKeys: connection.secretKeys,
    server: once(() => store.doctorView.server()),
    probes: once(async () => ({
      short: await probe(store, issuer),
      long: await probe(store, issuer, longState),
    })),
    async secondIssuer() {
      if (shell.issuer === issuer || !settings.overruled.includes('BASE_URL')) return undefined;
      return (await probe(store, shell.issuer)).seen && shell.issuer;
    },
  };
}

/** Sends a request with a single-use id to the issuer's own address, and reads what an instance saw of it. */
async function probe(store: Store, issuer: string, state?: string): Promise<Probe> {
  const id = randomSecret();
  await store.doctorProbes.open(id);
  const begun = Date.now();
  const address = `${issuer}/health/live?probe=${id}${state === undefined ? '' : `&state=${state}`}`;
  const answer = await sendProbe(address, state === undefined ? {} : { 'x-gatehouse-padding': state }).catch(
    (error: NodeJS.ErrnoException) => error.code ?? error.name,
  );
  const sentAt = (begun + Date.now()) / 2;
  return { answer, seen: await store.doctorProbes.take(id), sentAt };
}

/** Looks once, whoever asks. */
function once<Seen>(look: () => Promise<Seen>): () => Promise<Seen> {
  let seen: Promise<Seen> | undefined;
  return () => (seen ??= look());
}

function outputOf(lines: readonly Line[]): Output {
  const worst = Math.max(...lines.map(({ state }) => codes[state]));
  const width = Math.max(...lines.map(({ check }) => check.length));
  const text = lines.map(({ check, state, says, todo }) => {
    const line = `${state.padEnd(9)}${check.padEnd(width + 2)}${harmless(says)}`;
    return todo === undefined ? line : `${line}\n${' '.repeat(width + 11)}→ ${harmless(todo)}`;
  });
  const count = (state: State) => lines.filter((line) => line.state === state).length;
  const sum = `${count('fault')} × fault, ${count('warning')} × warning.`;
  return {
    text: [...text, '', sum].join('\n'),
    json: { faults: count('fault'), warnings: count('warning'), checks: lines },
    code: Object.values(codes).find((code) => code === worst)!,
  };
}
