// The load benchmark: the service beside a bare reference on one PostgreSQL, in turn, as ratios; writes docs/benchmark.md.
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Bed, withService } from './bed.ts';
import { command, startReference } from './children.ts';
import { basicOf, codeFlowOf, expectStatus, makeUsers, redirectUri, signInAll } from './flows.ts';
import { type Ask, loadFlow, loadWith, type Request, type Round } from './load.ts';
import { asMarkdown, asText, type Measured } from './report.ts';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string' },
    profile: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = 32;
const poolSize = 20;
const warmUp = 1; // seconds

interface Operation {
  operation: string;
  reference: string;
  subject(seconds: number): Promise<Round>;
  bare(seconds: number): Promise<Round>;
}

await withService(
  {
    DATABASE_POOL_SIZE: String(poolSize),
    // a few browsers stand for all
    LIMIT_CODES_PER_SESSION: '0',
  },
  main,
  { postgres: values.postgres, profile: values.profile },
);

async function main({ service, settings, stops }: Bed): Promise<void> {
  const reference = await startReference(settings.DATABASE_URL, poolSize);
  stops.push(() => reference.stop());

  const chosen = (await operations(service.base, reference.base, settings)).filter(
    ({ operation }) => values.only === undefined || operation.toLowerCase().includes(values.only),
  );
  for (const { subject, bare } of chosen) {
    await subject(warmUp);
    await bare(warmUp);
  }
  const measured: Measured[] = chosen.map(({ operation, reference }) => ({
    operation,
    reference,
    subject: [],
    bare: [],
  }));
  for (let round = 0; round < rounds; round++) {
    for (const [index, { subject, bare }] of chosen.entries()) {
      const sides = [
        async () => void measured[index]!.subject.push(await subject(seconds)),
        async () => void measured[index]!.bare.push(await bare(seconds)),
      ];
      // who comes first changes, so that neither always gets the warmer machine
      for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
    }
  }
  process.stdout.write(`${asText(measured)}\n`);
  if (values.only !== undefined || values.profile !== undefined) return;
  const facts = {
    node: process.versions.node,
    postgres: await versionOf(settings.DATABASE_URL),
    cpus: availableParallelism(),
    connections,
    poolSize,
    rounds,
    seconds,
  };
  writeFileSync(fileURLToPath(new URL('../docs/benchmark.md', import.meta.url)), asMarkdown(measured, facts));
}

async function operations(base: string, bareBase: string, settings: Record<string, string>): Promise<Operation[]> {
  const machine = await command(
    ['client', 'create', '--name', 'Bench', '--grant-type', 'client_credentials', '--scope', 'admin'],
    settings,
  );
  const web = await command(
    ['client', 'create', '--name', 'Web', '--redirect-uri', redirectUri, '--first-party'],
    settings,
  );
  const basic = basicOf(machine);
  const agents = await signInAll(base, await makeUsers(base, basic, connections));
  const flow = codeFlowOf(web);
  const codeFlow = async (ask: Ask, connection: number) => (await flow(ask, agents[connection]!)).access_token;
  const accessTokens: string[] = [];
  await loadFlow(
    base,
    async (ask, connection) => void (accessTokens[connection] ??= await codeFlow(ask, connection)),
    connections,
    0.001,
  );

  const rowIds: string[] = [];
  const insert: Request = { method: 'POST', path: '/row' };
  const bareFlow = async (ask: Ask, connection: number) => {
    const select: Request = { method: 'GET', path: `/row/${rowIds[connection]}` };
    for (const step of [select, insert, insert, select]) expectStatus(await ask(step), 200);
  };
  await loadFlow(
    bareBase,
    async (ask, connection) =>
      void (rowIds[connection] ??= (JSON.parse((await ask(insert)).body) as { id: string }).id),
    connections,
    0.001,
  );

  const token: Request = {
    method: 'POST',
    path: '/token',
    headers: { authorization: basic, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
  };
  const userinfo = accessTokens.map<Request>((value) => ({
    method: 'GET',
    path: '/user/info',
    headers: { authorization: `Bearer ${value}` },
  }));
  const select = rowIds.map<Request>((id) => ({ method: 'GET', path: `/row/${id}` }));
  const single = (address: string, requests: Request[]) => (time: number) =>
    loadWith(address, requests, connections, time);
  return [
    {
      operation: 'Client credentials',
      reference: 'INSERT',
      subject: single(base, [token]),
      bare: single(bareBase, [insert]),
    },
    { operation: 'UserInfo', reference: 'SELECT', subject: single(base, userinfo), bare: single(bareBase, select) },
    {
      operation: 'Code flow',
      reference: '2 SELECT + 2 INSERT',
      subject: (time) =>
        loadFlow(base, async (ask, connection) => void (await codeFlow(ask, connection)), connections, time),
      bare: (time) => loadFlow(bareBase, bareFlow, connections, time),
    },
    {
      operation: 'Discovery',
      reference: 'constant JSON',
      subject: single(base, [{ method: 'GET', path: '/.well-known/openid-configuration' }]),
      bare: single(bareBase, [{ method: 'GET', path: '/constant' }]),
    },
  ];
}

async function versionOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version') AS version`);
  await client.end();
  return `PostgreSQL ${rows[0]!.version.split(' ')[0]}`;
}
