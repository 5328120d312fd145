// Creates clients by the console's pages, and reads the pages that show them: credentials and snippets.
import { filledForm } from './console.ts';
import type { Page, UserAgent } from './user-agent.ts';

export const decoded = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** Fills in the form of a kind, and sends it. */
export async function createOfKind(agent: UserAgent, kind: string, fields: Record<string, string>): Promise<Page> {
  const path = `/admin/clients/new/${kind}`;
  return agent.post(path, { ...filledForm(await agent.get(path)), ...fields });
}

/** A value that the page shows once, by its name on the wire. */
export const credential = (page: Page, name: string): string | undefined =>
  new RegExp(`<bdi class="secret" id="${name}" dir="ltr">([^<]*)`).exec(page.body)?.[1];

/** The snippets of the page by the names of their files. */
export const snippetsOf = (page: Page): Record<string, string> =>
  Object.fromEntries(
    [...page.body.matchAll(/<pre id="snippet-([\w-]+)"[^>]*><code>([^<]*)<\/code>/g)].map(([, name, text]) => [
      name!,
      decoded(text!),
    ]),
  );
