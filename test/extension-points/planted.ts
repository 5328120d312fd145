// Gives a planted value its words, and reads the pages that show it to users and administrators.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { filledForm, openConsole } from '../helpers/console.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

/** Adds one line to a list of the service until the tests of the file are over: other files may run in the same process. */
export function plant<Value>(list: Value[], value: Value): void {
  list.push(value);
  afterAll(() => void list.splice(list.indexOf(value), 1));
}

/** A service whose pages have one more message in each language. @param messages the text by language */
export function startWithWords(key: string, messages: Record<string, string>): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-planted-'));
  mkdirSync(join(folder, 'messages'));
  for (const [locale, text] of Object.entries(messages))
    writeFileSync(join(folder, 'messages', `${locale}.planted.json`), JSON.stringify({ [key]: text }));
  return startTestService({ environment: { ...withoutLimits, TEMPLATES_DIR: folder } });
}

export async function discovery(service: TestService): Promise<Record<string, string[]>> {
  return (await call(`${service.issuer}/.well-known/openid-configuration`)).body as Record<string, string[]>;
}

/**
 * Creates a client by the console's form.
 * @param choices the values to choose, by the name of their field
 * @returns the text of the form, and the client that it created
 */
export async function createInConsole(service: TestService, choices: Record<string, string>) {
  const user = await service.createUser({ admin: true });
  const { agent, page } = await openConsole(service, user, '/admin/clients/new/web');
  const form = { ...filledForm(page), client_name: 'Harbour', redirect_uris: 'https://rp.example.com/callback' };
  for (const [name, value] of Object.entries(choices)) Object.assign(form, chosen(page.body, name, value));
  const created = await agent.post('/admin/clients/new/web', form);
  const clientId = /<bdi class="secret" id="client_id" dir="ltr">([^<]*)/.exec(created.body)?.[1];
  if (clientId === undefined)
    throw new Error(`no client was created: ${created.status} ${created.body.slice(0, 2000)}`);
  return { form: page.body, client: (await service.store.clients.find(clientId))! };
}

/** What a browser sends for a value that its user chose, in a list or by a checkbox. */
function chosen(html: string, name: string, value: string): Record<string, string> {
  if (html.includes(`<option value="${value}"`) || html.includes(`<option>${value}<`)) return { [name]: value };
  const box = [...html.matchAll(/<input name="([\w.]+)" type="checkbox"[^>]*> <span><bdi>([^<]*)/g)].find(
    ([, field, option]) => field!.startsWith(`${name}.`) && option === value,
  );
  if (!box) throw new Error(`the form has no ${value} in ${name}`);
  return { [box[1]!]: 'on' };
}

/** The page on which an administrator approves the registration of a client with this metadata. */
export async function approvalPage(service: TestService, metadata: Record<string, unknown>): Promise<string> {
  const body = { redirect_uris: ['https://rp.example.com/callback'], registration_mode: ['approval'], ...metadata };
  const { status, body: answer } = await call(`${service.issuer}/register`, { body });
  if (status !== 202) throw new Error(`not registered: ${status} ${JSON.stringify(answer)}`);
  const { pathname, search } = new URL(String(answer['verification_uri_complete']));
  const user = await service.createUser({ admin: true });
  return (await openConsole(service, user, pathname + search)).page.body;
}
