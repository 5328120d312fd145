// Declares the operations that show and change the appearance of the product.
import { z } from 'zod';
import {
  type Appearance,
  appearanceSettings,
  isProductName,
  isReadable,
  isSupportUrl,
} from '../../config/appearance-types.ts';
import { contrastOf, contrastText, isColor } from '../../config/accent-color.ts';
import { imageTypeOf, maxImageSize } from '../../config/image.ts';
import { type AppearanceChange, appearanceMembers } from '../../domain/administration/appearance.ts';
import type { AppearanceState } from '../../domain/appearance/appearance.ts';
import { conflict } from '../../oauth/errors.ts';
import { rule } from '../../oauth/refusals.ts';
import type { Config } from '../../config.ts';
import { operation } from './operation.ts';

const section = { permission: 'appearance', tag: 'appearance' } as const;
const path = '/admin/api/appearance';
/** Bytes: three images in base64, and percent-encoded in a form. */
export const appearanceLimit = 3 * 1024 * 1024;
const parts = Object.keys(appearanceMembers) as (keyof Appearance)[];

const image = z
  .base64(rule('image'))
  .max(Math.ceil(maxImageSize / 3) * 4, rule('image-size'))
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((content) => content.length <= maxImageSize, { ...rule('image-size'), abort: true })
  .refine((content) => imageTypeOf(content) !== undefined, rule('image'));

const color = z
  .string(rule('string'))
  .refine(isColor, { ...rule('color'), abort: true })
  .superRefine((accent, context) => {
    if (isReadable(accent)) return;
    const params = { contrast: contrastText(contrastOf(accent)) };
    context.addIssue({ code: 'custom', message: 'contrast', params });
  })
  .transform((accent) => accent.toLowerCase());

const change = z.strictObject({
  product_name: z
    .string(rule('string'))
    .refine(isProductName, rule('product-name'))
    .nullable()
    .optional()
    .describe('The name of the product; null for Gatehouse.'),
  accent_color: color
    .nullable()
    .optional()
    .describe('The color of links and buttons, such as #0c4a43; null removes it.'),
  support_url: z
    .string(rule('string'))
    .refine(isSupportUrl, rule('support-url'))
    .nullable()
    .optional()
    .describe('Where users get help: https, or mailto: with an email address; null removes it.'),
  logo: image.nullable().optional().describe('A PNG or WebP image of up to 256 KiB; null removes it.'),
  logo_dark: image.nullable().optional().describe('The logo for dark mode; null removes it.'),
  favicon: image.nullable().optional().describe('The icon of the browser tab; null removes it.'),
});

interface Shown {
  state: AppearanceState;
  config: Config;
}

function view({ state, config }: Shown) {
  const { appearance, brand, fixed } = state;
  const imageView = (content: Buffer | undefined, uri: string | undefined) =>
    content && uri !== undefined
      ? { uri: config.issuer + uri, type: `image/${imageTypeOf(content)}`, size: content.length }
      : undefined;
  const members = {
    product_name: appearance.productName,
    accent_color: appearance.accentColor,
    accent_color_dark: brand.palette?.dark.accent,
    support_url: appearance.supportUrl,
    logo: imageView(appearance.logo, brand.logo),
    logo_dark: imageView(appearance.logoDark, brand.logoDark),
    favicon: imageView(appearance.favicon, brand.favicon),
  };
  return { ...members, fixed: fixed.map((part) => appearanceMembers[part]) };
}

const text = (shown: Shown): string => {
  const { fixed, ...members } = view(shown);
  const settings = new Map(parts.map((part) => [appearanceMembers[part] as string, appearanceSettings[part]]));
  const lines = Object.entries(members).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const words = typeof value === 'string' ? value : `${value.type}, ${value.size} bytes, ${value.uri}`;
    const source = fixed.some((one) => one === name) ? ` (${settings.get(name)})` : '';
    return [`${name.padEnd(18)} ${words}${source}`];
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
  summary: 'Changes the appearance of all pages and mails; what the environment sets cannot be changed',
  input: () => change,
  bodyLimit: appearanceLimit,
  answer: 'Appearance',
  async handler({ appearance, administration, config }, { input, actor }) {
    const service = await appearance();
    const given = Object.fromEntries(parts.map((part) => [part, input[appearanceMembers[part]]])) as AppearanceChange;
    const fixed = service.current().fixed.find((part) => given[part] !== undefined);
    if (fixed)
      throw conflict(`the setting ${appearanceSettings[fixed]} of the environment takes precedence: change it there`);
    await administration.changeAppearance(actor, given);
    await service.refresh();
    return { state: service.current(), config };
  },
  view,
  command: { name: 'appearance set', text },
});

export const appearanceOperations = [showAppearance, changeAppearance];
