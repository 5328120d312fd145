// Declares the parts of the product's appearance, which administrators choose where no setting of the environment does.
import { z } from 'zod';
import { contrastOf, contrastText, isColor } from '../config/accent-color.ts';
import { type Appearance, isShortName, isReadable, isSupportUrl } from '../config/appearance-types.ts';
import { imageTypeOf, maxImageSize } from '../config/image.ts';
import { rule } from '../oauth/refusals.ts';
import { inputsOf, member, type Members, type MembersOf, storedOf } from './entity.ts';

const color = z
  .string(rule('string'))
  .refine(isColor, { ...rule('color'), abort: true })
  .superRefine((accent, context) => {
    if (isReadable(accent)) return;
    const params = { contrast: contrastText(contrastOf(accent)) };
    context.addIssue({ code: 'custom', message: 'contrast', params });
  })
  .transform((accent) => accent.toLowerCase());

const content = z
  .base64(rule('image'))
  .max(Math.ceil(maxImageSize / 3) * 4, rule('image-size'))
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((bytes) => bytes.length <= maxImageSize, { ...rule('image-size'), abort: true })
  .refine((bytes) => imageTypeOf(bytes) !== undefined, rule('image'));

const text = { answer: z.string().optional() };
const texts = {
  product_name: member(
    'The name of the product; null for Gatehouse.',
    z.string(rule('string')).refine(isShortName, rule('product-name')),
    { ...text, form: 'text' },
  ),
  accent_color: member('The color of links and buttons, such as #0c4a43; null removes it.', color, {
    ...text,
    form: 'text',
  }),
  support_url: member(
    'Where users get help: https, or mailto: with an email address; null removes it.',
    z.string(rule('string')).refine(isSupportUrl, rule('support-url')),
    { ...text, form: 'text' },
  ),
};

const image = (says: string) =>
  member(says, content, {
    answer: z
      .object({
        uri: z.url(),
        type: z.enum(['image/png', 'image/webp']),
        size: z.int().describe('In bytes.'),
      })
      .optional(),
  });
const images = {
  logo: image('A PNG or WebP image of up to 256 KiB; null removes it.'),
  logo_dark: image('The logo for dark mode; null removes it.'),
  favicon: image('The icon of the browser tab; null removes it.'),
};

export const appearance = { ...texts, ...images };

/** The columns of parts, which are their names in the API, with their names in the service. */
const partsOf = <All extends Members>(members: All) =>
  // the compiler does not know the keys of entries
  Object.entries(members).flatMap(([name, declared]) => storedOf(name, declared)) as {
    column: keyof All & string;
    name: keyof MembersOf<{ members: All }> & keyof Appearance;
  }[];
export const textParts = partsOf(texts);
export const imageParts = partsOf(images);
export const appearanceParts = [...textParts, ...imageParts];

/** The name of a part in the API. */
export const memberOf = (part: keyof Appearance): keyof typeof appearance =>
  appearanceParts.find(({ name }) => name === part)!.column;

export const appearanceChangeShape = z.strictObject(inputsOf(appearance, false));
