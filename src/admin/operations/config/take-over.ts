// Declares the operation by which an administrator takes over what a set of configuration files keeps (federation 10).
import { z } from 'zod';
import { notFound } from '../../../oauth/errors.ts';
import { text } from '../../../oauth/text.ts';
import { demandPermission, operation, type OperationContext, pageOperation } from '../operation.ts';
import { type Kept, keptOne } from './kept.ts';
import { fileNouns } from './nouns.ts';

const section = { permission: 'settings', tag: 'config' } as const;

/** @throws OAuthError not_found */
async function keptIn(context: OperationContext, one: { section: string; key: string }): Promise<Kept> {
  const noun = fileNouns().find((each) => each.section === one.section);
  const kept = noun && (await keptOne(context, noun, one.key));
  if (!kept) throw notFound('no set of configuration files manages this');
  return kept;
}

export const findKept = pageOperation(section.permission, 'read', keptIn);

export const takeOver = operation({
  ...section,
  method: 'POST',
  path: '/admin/api/config/take-over',
  summary:
    'Takes over an object that a set of configuration files manages: administrators can then change it, and the files are refused until they have adopt: true or no longer contain it',
  input: () =>
    z.strictObject({
      section: text(63).describe('The section of the files, such as clients.'),
      key: text(2000).describe('The name of the entry there; for the appearance its section.'),
    }),
  answer: 'TakenOver',
  async handler(context, { input, actor }) {
    const { noun } = await keptIn(context, input);
    demandPermission({ permission: noun.of.permission, act: 'change' }, actor);
    return context.store.transaction(async ({ keptObjects, auditEvents }) => {
      await keptObjects.lock();
      const { found, fileSet } = await keptIn(context, input);
      await keptObjects.release(noun.section, found.key);
      const taken = { section: noun.section, key: found.key, file_set: fileSet };
      await auditEvents.insert({ ...actor, type: 'config.taken_over', outcome: 'success', detail: taken });
      return taken;
    });
  },
  command: {
    name: 'config take-over',
    arguments: ['section', 'key'],
    text: ({ key, file_set: files }) => `Took over ${key}: the configuration files ${files} no longer manage it.`,
  },
});
