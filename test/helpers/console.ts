// An administrator at the console, as a browser gets there: through the sign-in of the service itself.
import type { TestService } from './service.ts';
import { type Page, UserAgent } from './user-agent.ts';

/** Opens a page of the console as somebody who signs in on the way. */
export async function openConsole(
  service: TestService,
  user: { username: string; password: string },
  path = '/admin',
): Promise<{ agent: UserAgent; page: Page }> {
  const agent = new UserAgent(service);
  const page = await agent.signIn(user, await agent.follow(await agent.get(path)));
  return { agent, page };
}

/** The hidden fields of the form that posts to `action`. */
export function formOf(page: Page, action: string): Record<string, string> {
  // a filter of the same page may ask the same address
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
