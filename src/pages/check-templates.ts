// Renders every page and mail once with example data, so that a mistake in an operator's template ends the start instead of a user's request.
import { builtInTemplates, type PageRenderer } from './renderer.ts';
import type { MailContent, MailName, PageName, Pages } from './views/index.ts';
import type { Examples } from './views/parts.ts';

interface ShippedExamples {
  examples: Examples<Pages>;
  mailExamples: Examples<Record<MailName, MailContent>>;
}

/** Throws the error of the first template that fails: one sentence, which names its file. */
export async function checkTemplates(pages: PageRenderer): Promise<void> {
  // example data, loaded only here: no page ever shows it
  const { examples, mailExamples } = (await import(`${builtInTemplates}examples/index.ts`)) as ShippedExamples;
  for (const name of Object.keys(examples) as PageName[])
    for (const example of examples[name]) pages.render(name, example, { locale: 'en' });
  for (const name of Object.keys(mailExamples) as MailName[])
    for (const example of mailExamples[name]) pages.mail(name, example, { locale: 'en', issuer: '' });
}
