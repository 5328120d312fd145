// Says how the appearance stands in configuration files: one mapping of its parts, with images in base64.
import { appearance } from '../../../entities/appearance.ts';
import { type Input, type Members, viewOf } from '../../../entities/entity.ts';
import { entryShape, readEntry } from '../../../entities/file.ts';
import type { Appearance } from '../../../config/appearance-types.ts';
import { changeAppearance } from '../appearance.ts';
import type { FileNoun, Found } from './noun.ts';

const declared = { one: 'appearance', permission: 'appearance' as const, members: appearance as Members };
const shape = entryShape(declared);

/** As a file has it: images are text there. */
const asText = (values: Input): Input =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString('base64') : value]),
  );

const section = 'appearance';

function foundOf(stored: Appearance): Found {
  const shown = asText(viewOf(appearance, stored));
  const state = JSON.stringify(shown);
  return { key: section, shown, secrets: {}, entry: () => shown, madeAt: '', version: state, state: () => state };
}

/** There is always one: a removal gives each part its default. */
export const appearanceNoun: FileNoun = {
  section,
  of: declared,
  key: '',
  isSingle: true,
  find: async ({ store }) => foundOf(await store.appearance.read()),
  on: { param: '', shows: [], change: changeAppearance, others: [] },
  list: async ({ store }) => [foundOf(await store.appearance.read())],
  read(_context, key, entry) {
    const { input } = readEntry(declared, shape, entry ?? {});
    return { key, values: asText(input), secrets: {} };
  },
  async create() {
    throw new Error('there is always an appearance');
  },
  async change({ context, by }, _before, change) {
    const { input } = readEntry(declared, shape, asText(change));
    const removed = Object.entries(change).filter(([, value]) => value === null);
    const call = { params: {}, input: { ...input, ...Object.fromEntries(removed) }, actor: by };
    await changeAppearance.handler(context, call);
  },
  async remove({ context, by }) {
    const none = Object.fromEntries(Object.keys(appearance).map((name) => [name, null]));
    await changeAppearance.handler(context, { params: {}, input: none, actor: by });
  },
};
