// Opens the templates of the pages, and checks those of the operator.
import { type Config, ConfigError } from '../config.ts';
import { checkTemplates } from './check-templates.ts';
import { createPages, type PageRenderer } from './renderer.ts';

/** @throws ConfigError with one sentence that names the operator's file with a mistake */
export async function openPages(config: Config, given: PageRenderer | undefined): Promise<PageRenderer> {
  if (config.templatesDir === undefined) return given ?? createPages(config);
  try {
    const renderer = given ?? createPages(config);
    await checkTemplates(renderer);
    return renderer;
  } catch (error) {
    const reason = (error as Error).message.replace(/\s+/g, ' ');
    throw new ConfigError(`The setting TEMPLATES_DIR is wrong: ${reason}`, { cause: error });
  }
}
