// Opens the console as an administrator in a browser does: through the sign-in of the service itself.
import type { TestService } from './service.ts';
import { type Page, UserAgent } from './user-agent.ts';

/** Opens a page of the console as an administrator who has to sign in first. */
export async function openConsole(
  service: TestService,
  user: { username: string; password: string },
  path = '/admin',
): Promise<{ agent: UserAgent; page: Page }> {
  const agent = new UserAgent(service);
  const page = await agent.signIn(user, await agent.follow(await agent.get(path)));
  return { agent, page };
}

/** Adds a rule to a list by the form of its kind. @param path the address of the one that has the list */
export async function addRule(
  agent: UserAgent,
  { path, member, kind }: { path: string; member: string; kind: string },
  fields: Record<string, string>,
): Promise<Page> {
  const uri = `${path}/rules/${member}/new?kind=${kind}`;
  return agent.follow(await agent.post(uri, { ...formOf(await agent.get(uri), uri), ...fields }));
}

/** The hidden fields of the form that posts to `action`. */
export function formOf(page: Page, action: string): Record<string, string> {
  // a filter on the same page may use the same address
  const forms = page.body.split('<form').filter((text) => /^[^>]*method="post"/.test(text));
  const form = forms.find((text) =>
    new RegExp(`action="[^"]*${action.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"`).test(text),
  );
  if (form === undefined) throw new Error(`no form for ${action} on ${page.url} (${page.status})`);
  const fields = form
    .slice(0, form.indexOf('</form>'))
    .matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name, value]) => [name!, value!]));
}

/** The main form of a page, such as that which creates or changes a client, as a browser sends it. */
export function filledForm(page: Page): Record<string, string> {
  const form: Record<string, string> = {};
  const decode = (text: string) =>
    text
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&');
  const main = page.body.slice(page.body.search(/<form class="(edit|card|person)"/));
  for (const [tag] of main.matchAll(/<input [^>]*>/g)) {
    const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
    const isBox = /type="(checkbox|radio)"/.test(tag);
    if (!isBox || tag.includes(' checked'))
      form[attribute('name')!] = decode(attribute('value') ?? (isBox ? 'on' : ''));
  }
  for (const [, name, value] of main.matchAll(/<textarea [^>]*?name="([^"]*)"[^>]*>\n?([^<]*)<\/textarea>/g))
    form[name!] = decode(value!);
  for (const [, name, options] of main.matchAll(/<select [^>]*?name="([^"]*)"[^>]*>(.*?)<\/select>/gs)) {
    const [, value, text = ''] = /<option(?: value="([^"]*)")? selected>([^<]*)/.exec(options!) ?? [];
    form[name!] = value ?? text;
  }
  return form;
}
