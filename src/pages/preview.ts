// Makes the stylesheet of a preview: the colours of the pages in both modes at once, under an accent that is not stored yet.
import { isColor, type Palette, paletteOf } from '../config/accent-color.ts';
import { brandPath, propertiesOf } from '../domain/appearance/appearance.ts';
import type { PageRenderer } from './renderer.ts';

/** The address of the stylesheet for an accent; undefined shows the service's own. */
export const previewPath = (accent: string | undefined): string =>
  `${brandPath}/preview${accent === undefined ? '' : `.${accent.slice(1).toLowerCase()}`}.css`;

/** @param name the end of the address @returns undefined if that is no address of a preview */
export function previewStylesheet({ assets }: Pick<PageRenderer, 'assets'>, name: string): string | undefined {
  const match = /^preview(?:\.([0-9a-f]{6}))?\.css$/.exec(name);
  if (!match) return undefined;
  const accent = `#${match[1]}`;
  const palette = isColor(accent) ? paletteOf(accent) : undefined;
  // the stylesheet of the pages begins with the properties of the light mode, and then those of the dark one
  const [light = '', ...others] = [...assets.get('style.css')!.body.matchAll(/:root\s*\{([^}]*)\}/g)].map(
    ([, properties]) => properties!,
  );
  const rule = (mode: keyof Palette, properties: string[]) =>
    `.preview.${mode}{${[...properties, `color-scheme:${mode}`, palette ? propertiesOf(palette[mode]) : ''].join(';')}}`;
  return rule('light', [light]) + rule('dark', [light, ...others]);
}
