// Declares the operations that show and change the appearance of the product.
import { appearanceSettings } from '../../config/appearance-types.ts';
import { imageTypeOf } from '../../config/image.ts';
import type { AppearanceState } from '../../domain/appearance/appearance.ts';
import { appearanceChangeShape, imageParts, memberOf, textParts } from '../../entities/appearance.ts';
import { conflict } from '../../oauth/errors.ts';
import type { Config } from '../../config.ts';
import { operation } from './operation.ts';

const section = { permission: 'appearance', tag: 'appearance' } as const;
const path = '/admin/api/appearance';
/** Bytes: three images in base64, and percent-encoded in a form. */
export const appearanceLimit = 3 * 1024 * 1024;

interface Shown {
  state: AppearanceState;
  config: Config;
}

type Value = string | { uri: string; type: string; size: number } | undefined;

/** The parts by their names in the API; an image is shown by its address. */
function membersIn({ state: { appearance, brand }, config }: Shown): [string, Value][] {
  const imageOf = (content: Buffer | undefined, uri: string | undefined): Value =>
    content && uri !== undefined
      ? { uri: config.issuer + uri, type: `image/${imageTypeOf(content)}`, size: content.length }
      : undefined;
  return [
    ...textParts.flatMap(({ column, name }): [string, Value][] => [
      [column, appearance[name]],
      ...(name === 'accentColor' ? [[`${column}_dark`, brand.palette?.dark.accent] as [string, Value]] : []),
    ]),
    ...imageParts.map(({ column, name }): [string, Value] => [column, imageOf(appearance[name], brand[name])]),
  ];
}

const view = (shown: Shown) => ({
  ...Object.fromEntries(membersIn(shown)),
  fixed: shown.state.fixed.map(memberOf),
});

const text = (shown: Shown): string => {
  const settings = new Map<string, string>(shown.state.fixed.map((part) => [memberOf(part), appearanceSettings[part]]));
  const lines = membersIn(shown).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const words = typeof value === 'string' ? value : `${value.type}, ${value.size} bytes, ${value.uri}`;
    const setting = settings.get(name);
    return [`${name.padEnd(18)} ${words}${setting === undefined ? '' : ` (${setting})`}`];
  });
  return lines.length > 0 ? lines.join('\n') : 'The pages have the look of the service itself.';
};

const showAppearance = operation({
  method: 'GET',
  path,
  ...section,
  summary: 'Shows the appearance of the pages: the name, the logos, the icon, the accent color and the support link',
  answer: 'Appearance',
  handler: async ({ appearance, config }) => ({ state: (await appearance()).current(), config }),
  view,
  command: { name: 'appearance show', text },
});

export const changeAppearance = operation({
  method: 'PATCH',
  path,
  ...section,
  summary: 'Changes the appearance of all pages and mails; values from the environment cannot be changed',
  input: () => appearanceChangeShape,
  bodyLimit: appearanceLimit,
  answer: 'Appearance',
  async handler({ appearance, administration, config }, { input, actor }) {
    const service = await appearance();
    const fixed = service.current().fixed.find((part) => input[memberOf(part)] !== undefined);
    if (fixed)
      throw conflict(`the setting ${appearanceSettings[fixed]} of the environment takes precedence: change it there`);
    await administration.changeAppearance(actor, input);
    await service.refresh();
    return { state: service.current(), config };
  },
  view,
  command: { name: 'appearance set', text },
});

export const appearanceOperations = [showAppearance, changeAppearance];
