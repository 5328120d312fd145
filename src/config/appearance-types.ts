// Defines the rules of the product's appearance, for the settings and for the console alike.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { contrastOf, contrastText, isColor, minContrast } from './accent-color.ts';
import { imageTypeOf, maxImageSize } from './image.ts';

/** What administrators and settings choose; undefined where the service's own look stays. */
export interface Appearance {
  productName: string | undefined;
  accentColor: string | undefined;
  supportUrl: string | undefined;
  logo: Buffer | undefined;
  /** In place of the logo where the page is dark. */
  logoDark: Buffer | undefined;
  favicon: Buffer | undefined;
}

/** The setting of each part. */
export const appearanceSettings = {
  productName: 'PRODUCT_NAME',
  accentColor: 'ACCENT_COLOR',
  supportUrl: 'SUPPORT_URL',
  logo: 'LOGO_FILE',
  logoDark: 'LOGO_DARK_FILE',
  favicon: 'FAVICON_FILE',
} as const satisfies Record<keyof Appearance, string>;

/** The most characters of a short name. */
export const maxShortName = 60;

/** One line of visible characters: control, zero-width and direction characters could pass for other words. */
export const isShortName = (name: string): boolean =>
  /^[^\p{C}\p{Zl}\p{Zp}]{1,60}$/u.test(name) && /[\p{L}\p{N}]/u.test(name) && name === name.trim();

/** An https address without user information, or a mail address as mailto:. */
export function isSupportUrl(address: string): boolean {
  if (address.length > 2000 || !/^(https:\/\/|mailto:)[^\s\p{C}]+$/u.test(address) || !URL.canParse(address))
    return false;
  const { protocol, username, password, hostname } = new URL(address);
  if (protocol === 'https:') return hostname !== '' && username === '' && password === '';
  return protocol === 'mailto:' && /^mailto:[^\s@,;<>"]+@[^\s@,;<>"?]+(\?[^\s<>"]*)?$/i.test(address);
}

export const isReadable = (accent: string): boolean => contrastOf(accent) >= minContrast;

export const productNameType = z
  .string()
  .refine(isShortName, 'must be a name of 1 to 60 characters, without control or direction characters');

export const supportUrlType = z.string().refine(isSupportUrl, 'must be an https URL, or mailto: with an email address');

export const accentColorType = z
  .string()
  .refine(isColor, { error: 'must be a color such as #0c4a43', abort: true })
  .refine(isReadable, {
    error: ({ input }) =>
      `must have a contrast of at least ${minContrast}:1 with the page and with white text, and this color has ${contrastText(contrastOf(String(input)))}:1: choose a darker one`,
  })
  .transform((color) => color.toLowerCase());

/** The file that a setting names, read once at the start. */
export const imageFileType = z.string().transform((path, context) => {
  const refuse = (what: string) => {
    context.addIssue({ code: 'custom', message: `must name a PNG or WebP image of up to 256 KiB, and ${what}` });
    return z.NEVER;
  };
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch {
    return refuse('the service cannot read this file');
  }
  if (content.length > maxImageSize) return refuse(`this file has ${Math.ceil(content.length / 1024)} KiB`);
  return imageTypeOf(content) ? content : refuse('this file is none');
});
