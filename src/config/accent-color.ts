// Derives the palette of an accent colour: a stronger shade, the partner for dark mode, and the colour of text on both; and measures contrast (WCAG 2.2, 1.4.3).

export interface Shades {
  accent: string;
  /** For a pointer over a link or a button. */
  strong: string;
  /** Text on the accent. */
  on: string;
}

export interface Palette {
  light: Shades;
  dark: Shades;
}

/** The colours behind links in each mode: --ground, --surface and --tint of templates/style.css. */
export const backgrounds = {
  light: ['#f1f3f0', '#ffffff', '#eff4f1'],
  dark: ['#0f1312', '#191e1d', '#222a28'],
} as const;

export const minContrast = 4.5;
/** The contrast of the partner for dark mode, which is ours to choose. */
const darkContrast = 7;
const white = '#ffffff';

export const isColor = (text: string): boolean => /^#[0-9a-f]{6}$/i.test(text);

/** The contrast of two colours, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

/** The lowest contrast of an accent: as a link on the page's backgrounds, and behind the text of a button. */
export const contrastOf = (accent: string): number =>
  Math.min(...[white, ...backgrounds.light].map((color) => contrast(accent, color)));

/** A contrast with one decimal, never rounded up: 4.46 is not 4.5. */
export const contrastText = (value: number): string => (Math.floor(value * 10) / 10).toFixed(1);

/** @param accent a colour that contrastOf() has accepted */
export function paletteOf(accent: string): Palette {
  const { lightness, chroma, hue } = toOklch(accent);
  let partner: string;
  let level = 0.7;
  do partner = fromOklch({ lightness: (level += 0.01), chroma: Math.min(chroma, 0.13), hue });
  while (backgrounds.dark.some((color) => contrast(partner, color) < darkContrast));
  return {
    light: {
      accent: accent.toLowerCase(),
      strong: fromOklch({ lightness: Math.max(0, lightness - 0.08), chroma, hue }),
      on: white,
    },
    dark: {
      accent: partner,
      strong: fromOklch({ lightness: Math.min(1, level + 0.07), chroma: Math.min(chroma, 0.1), hue }),
      on: fromOklch({ lightness: 0.2, chroma: Math.min(chroma, 0.04), hue }),
    },
  };
}

/** Lightness from 0 to 1, chroma from 0, hue in radians: equal steps look equal (CSS Color 4, 9.4). */
interface Oklch {
  lightness: number;
  chroma: number;
  hue: number;
}
type Triple = readonly [number, number, number];

/** Linear light of red, green and blue, from 0 to 1. */
function linear(color: string): Triple {
  const channel = (at: number) => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function luminance(color: string): number {
  return dot([0.2126, 0.7152, 0.0722], linear(color));
}

const dot = (one: Triple, other: Triple): number => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
const times = (rows: readonly [Triple, Triple, Triple], vector: Triple): Triple => [
  dot(rows[0], vector),
  dot(rows[1], vector),
  dot(rows[2], vector),
];

function toOklch(color: string): Oklch {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    linear(color),
  );
  const [lightness, a, b] = times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    [Math.cbrt(cones[0]), Math.cbrt(cones[1]), Math.cbrt(cones[2])],
  );
  return { lightness, chroma: Math.hypot(a, b), hue: Math.atan2(b, a) };
}

/** The nearest colour that screens show: the chroma falls until it fits, the hue stays. */
function fromOklch({ lightness, chroma, hue }: Oklch): string {
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const roots = times(
    [
      [1, 0.3963377774, 0.2158037573],
      [1, -0.1055613458, -0.0638541728],
      [1, -0.0894841775, -1.291485548],
    ],
    [lightness, a, b],
  );
  const channels = times(
    [
      [4.0767416621, -3.3077115913, 0.2309699292],
      [-1.2684380046, 2.6097574011, -0.3413193965],
      [-0.0041960863, -0.7034186147, 1.707614701],
    ],
    [roots[0] ** 3, roots[1] ** 3, roots[2] ** 3],
  );
  const fits = channels.every((value) => value > -0.001 && value < 1.001);
  if (!fits && chroma > 0) return fromOklch({ lightness, chroma: Math.max(0, chroma - 0.005), hue });
  return `#${channels.map(hexOf).join('')}`;
}

function hexOf(value: number): string {
  const bounded = Math.min(1, Math.max(0, value));
  const encoded = bounded <= 0.0031308 ? 12.92 * bounded : 1.055 * bounded ** (1 / 2.4) - 0.055;
  return Math.round(encoded * 255)
    .toString(16)
    .padStart(2, '0');
}
