// Keeps the product's appearance in memory: the settings first, then what administrators chose, and the files that pages load for it.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Palette, paletteOf } from '../../config/accent-color.ts';
import { type Appearance, appearanceSettings } from '../../config/appearance-types.ts';
import { imageTypeOf } from '../../config/image.ts';
import type { Store } from '../../repositories/store.ts';

/** What pages and mails show of it. The addresses are paths below the base address; a digest of the content is part of each. */
export interface Brand {
  productName: string | undefined;
  supportUrl: string | undefined;
  palette: Palette | undefined;
  /** Sets the colours of the palette. */
  stylesheet: string | undefined;
  logo: string | undefined;
  logoDark: string | undefined;
  favicon: string | undefined;
  /** The logo as a part of a mail, which loads nothing. Few mail programs show WebP, so only a PNG is one. */
  mailLogo: Buffer | undefined;
}

export interface BrandFile {
  contentType: string;
  content: Buffer | string;
}

export interface AppearanceState {
  /** What is in force. */
  appearance: Appearance;
  /** The parts that settings of the environment fix. */
  fixed: readonly (keyof Appearance)[];
  brand: Brand;
}

export type AppearanceService = ReturnType<typeof createAppearance>;

export const brandPath = '/assets/brand';
const parts = Object.keys(appearanceSettings) as (keyof Appearance)[];
const refreshPause = 1_000; // milliseconds
const fileName = /^[a-z-]{1,20}\.[0-9a-f]{16}\.(css|png|webp)$/;

/** @param settings the parts that the environment sets */
export function createAppearance(store: Pick<Store, 'appearance'>, settings: Appearance) {
  const fixed = parts.filter((part) => settings[part] !== undefined);
  let { state, files } = prepare(settings, fixed);
  /** The files before the last change: pages that were sent just before it still load them. */
  let formerFiles = files;
  let readAt = -Infinity;
  let [reads, newest] = [0, 0];

  async function refresh(): Promise<void> {
    readAt = performance.now();
    const turn = ++reads;
    const stored = await store.appearance.read();
    // a read that began later has found at least as much
    if (turn < newest) return;
    newest = turn;
    const appearance = { ...stored, ...Object.fromEntries(fixed.map((part) => [part, settings[part]])) };
    // the same brand stays the same object, which the texts of its product name are cached by
    if (isDeepStrictEqual(appearance, state.appearance)) return;
    const next = prepare(appearance, fixed);
    // a read that finds the same files must not drop the former ones
    if ([...next.files.keys()].join() !== [...files.keys()].join()) formerFiles = files;
    ({ state, files } = next);
  }

  return {
    /** Reads the stored row again; until the first time only the settings are in force. */
    refresh,
    current: (): AppearanceState => state,
    /**
     * Finds a file by the name that its address ends in. A page of another instance may name a file that this one has not read yet, so it
     * reads the row again, once a second at most.
     */
    async file(name: string): Promise<BrandFile | undefined> {
      const found = files.get(name) ?? formerFiles.get(name);
      if (found || !fileName.test(name) || performance.now() - readAt < refreshPause) return found;
      await refresh();
      return files.get(name);
    },
  };
}

function prepare(appearance: Appearance, fixed: AppearanceState['fixed']) {
  const files = new Map<string, BrandFile>();
  const add = (name: string, extension: string, file: BrandFile): string => {
    const digest = createHash('sha256').update(file.content).digest('hex').slice(0, 16);
    files.set(`${name}.${digest}.${extension}`, file);
    return `${brandPath}/${name}.${digest}.${extension}`;
  };
  const image = (name: string, content: Buffer | undefined): string | undefined => {
    const type = content && imageTypeOf(content);
    return type && add(name, type, { contentType: `image/${type}`, content });
  };
  const palette = appearance.accentColor === undefined ? undefined : paletteOf(appearance.accentColor);
  const brand: Brand = {
    productName: appearance.productName,
    supportUrl: appearance.supportUrl,
    palette,
    stylesheet: palette && add('colors', 'css', { contentType: 'text/css; charset=utf-8', content: cssOf(palette) }),
    logo: image('logo', appearance.logo),
    logoDark: image('logo-dark', appearance.logoDark),
    favicon: image('favicon', appearance.favicon),
    mailLogo: appearance.logo && imageTypeOf(appearance.logo) === 'png' ? appearance.logo : undefined,
  };
  return { state: { appearance, fixed, brand }, files };
}

/** The custom properties of a palette's colours in one mode. */
export const propertiesOf = ({ accent, strong, on }: Palette['light']): string =>
  // the glow at the top of the page is of the service's own accent
  `--accent:${accent};--accent-strong:${strong};--on-accent:${on};--glow:var(--ground)`;

const cssOf = ({ light, dark }: Palette): string =>
  `:root{${propertiesOf(light)}}@media (prefers-color-scheme:dark){:root{${propertiesOf(dark)}}}`;
