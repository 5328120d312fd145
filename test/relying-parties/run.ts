// Walks a browser through every relying party, also through those that it fetches because npm and Debian have no package of them.
//
//   node test/relying-parties/run.ts                          all of them
//   node test/relying-parties/run.ts apache authlib           these
//   node test/relying-parties/run.ts spring-resource-server   an API, which takes access tokens
//   node test/relying-parties/run.ts spring-tokens            a program that exchanges tokens and comes with a certificate
//   node test/relying-parties/run.ts --fault secret apache    set up wrongly (secret, redirect_uri or logout_uri): the walk must fail
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parties } from './parties.ts';
import { walkThroughApi } from './api-walk.ts';
import { fetchedApis, fetchedTokenParties } from './fetched-apis.ts';
import { fetchedParties } from './fetched-parties.ts';
import { startProvider } from './provider.ts';
import { createWalkCertificates, walkThroughTokens } from './token-walk.ts';
import { type Fault, isNotifiedOfSignOuts, launchBrowser, type Progress, walkThrough } from './walk.ts';

const { values, positionals } = parseArgs({ options: { fault: { type: 'string' } }, allowPositionals: true });
const all = [...parties, ...fetchedParties];
const names = [...all, ...fetchedApis, ...fetchedTokenParties].map(({ folder }) => folder);
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined || ![undefined, 'secret', 'redirect_uri', 'logout_uri'].includes(values.fault)) {
  console.error(`Usage: run.ts [--fault secret|redirect_uri|logout_uri] [${names.join('|')} …]`);
  process.exit(2);
}
const chromium = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  (path) => path !== undefined && existsSync(path),
);
if (chromium === undefined) {
  console.error('There is no Chromium: install it, or set CHROMIUM to the path of one.');
  process.exit(2);
}

const rows: string[][] = [];
const apiRows: string[][] = [];
const tokenRows: string[][] = [];
const asked = ({ folder }: { folder: string }) => positionals.length === 0 || positionals.includes(folder);
const problems: string[] = [];
const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-parties-'));
const certificates = await createWalkCertificates();
const provider = await startProvider({ DATA_DIR: dataDir, ...certificates.settings });
const browser = await launchBrowser(chromium);
try {
  for (const party of all.filter(asked)) {
    console.log(`${party.name} …`);
    const progress: Progress = { signedIn: false, refreshed: false, signedOut: false, signedOutElsewhere: false };
    let version: string | { missing: string } = '';
    let seconds = '';
    try {
      party.fetch?.();
      version = party.version();
      if (typeof version !== 'string') throw new Error(`${party.name}: it needs ${version.missing}`);
      const begin = performance.now();
      await walkThrough({ party, provider, browser, fault: values.fault as Fault | undefined }, progress);
      seconds = ((performance.now() - begin) / 1000).toFixed(1);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
    const { signedIn, refreshed, signedOut, signedOutElsewhere } = progress;
    rows.push([
      party.name,
      typeof version === 'string' ? version : '',
      signedIn ? 'yes' : 'NO',
      party.refreshes ? (refreshed ? 'yes' : 'NO') : '-',
      signedOut ? 'yes' : 'NO',
      isNotifiedOfSignOuts(party) ? (signedOutElsewhere ? 'yes' : 'NO') : '-',
      seconds,
    ]);
  }
  // their requests have no browser, and no fault to set up
  for (const api of values.fault === undefined ? fetchedApis.filter(asked) : []) {
    console.log(`${api.name} …`);
    let took = 'NO';
    try {
      api.fetch();
      await walkThroughApi(api, provider);
      took = 'yes';
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
    apiRows.push([api.name, api.version(), took, api.acceptsProofs ? took : '-']);
  }
  for (const party of values.fault === undefined ? fetchedTokenParties.filter(asked) : []) {
    console.log(`${party.name} …`);
    let took = 'NO';
    try {
      party.fetch();
      await walkThroughTokens(party, provider, certificates);
      took = 'yes';
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
    const optional = [party.checksCertificates, party.requestsDetails].map((has) => (has ? took : '-'));
    tokenRows.push([party.name, party.version(), took, took, ...optional]);
  }
} finally {
  await browser.close();
  await provider.stop();
  certificates.remove();
  rmSync(dataDir, { recursive: true, force: true });
}
const heads = ['RELYING PARTY', 'VERSION', 'SIGNED IN', 'REFRESHED', 'SIGNED OUT', 'ELSEWHERE', 'SECONDS'];
if (rows.length > 0) print([heads, ...rows]);
if (apiRows.length > 0) print([['API', 'VERSION', 'TAKES ITS JWTS ONLY', 'WITH DPOP'], ...apiRows]);
if (tokenRows.length > 0)
  print([['PROGRAM', 'VERSION', 'EXCHANGES', 'BY CERTIFICATE', 'CHECKS CERTIFICATES', 'DETAILS'], ...tokenRows]);
for (const problem of problems) console.error(`\n${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;

function print(table: string[][]): void {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  console.log();
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
}
