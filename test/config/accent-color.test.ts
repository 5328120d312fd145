// The palette of an accent colour: contrast is measured as WCAG does, and what is derived can be read in both modes.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { backgrounds, contrast, contrastOf, contrastText, paletteOf } from '../../src/config/accent-color.ts';

test.each([
  ['#000000', '#ffffff', 21],
  ['#ffffff', '#ffffff', 1],
  ['#777777', '#ffffff', 4.48],
  ['#767676', '#ffffff', 4.54],
  ['#0000ff', '#ffffff', 8.59],
  ['#ff0000', '#ffffff', 4],
])('the contrast of %s and %s is %d, in either order (WCAG 2.2, 1.4.3)', (one, other, expected) => {
  expect(contrast(one, other)).toBeCloseTo(expected, 2);
  expect(contrast(other, one)).toBe(contrast(one, other));
});

test('the backgrounds of the contrast check are those of the stylesheet (pages, appearance)', () => {
  const css = readFileSync(new URL('../../templates/style.css', import.meta.url), 'utf8');
  const blocks = [...css.matchAll(/:root\s*\{([^}]*)\}/g)].map(([, block]) => block!);
  const [light, dark] = blocks.map((block) =>
    ['ground', 'surface', 'tint'].map((name) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(block)?.[1]),
  );
  expect({ light, dark }).toEqual(backgrounds);
});

test('the contrast of an accent is the lowest of all places that show it, and is never rounded up (pages, appearance)', () => {
  expect(contrastOf('#767676')).toBeLessThan(4.5);
  expect(contrastText(contrastOf('#767676'))).toBe('4.0');
  expect(contrastText(4.4999)).toBe('4.4');
  expect(contrastOf('#0c4a43')).toBeGreaterThan(7);
});

const hueOf = (color: string): number => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)) as [number, number, number];
  return (Math.atan2(Math.sqrt(3) * (green - blue), 2 * red - green - blue) * 180) / Math.PI;
};

test.each([
  '#0c4a43',
  '#0b57d0',
  '#b3261e',
  '#6d28d9',
  '#9a4a00',
  '#c2185b',
  '#1b5e20',
  '#0000ff',
  '#000000',
  '#5f6368',
])('the palette of %s can be read in both modes, and keeps its hue (pages, appearance)', (accent) => {
  const { light, dark } = paletteOf(accent);
  expect(light.accent).toBe(accent);
  for (const color of Object.values({ ...light, ...dark })) expect(color).toMatch(/^#[0-9a-f]{6}$/);
  expect(contrast(light.strong, light.on)).toBeGreaterThanOrEqual(4.5);
  for (const background of backgrounds.dark) {
    expect(contrast(dark.accent, background)).toBeGreaterThanOrEqual(7);
    expect(contrast(dark.strong, background)).toBeGreaterThanOrEqual(7);
  }
  expect(contrast(dark.accent, dark.on)).toBeGreaterThanOrEqual(7);
  expect(contrast(dark.strong, dark.on)).toBeGreaterThanOrEqual(7);
  const isGrey = new Set([accent.slice(1, 3), accent.slice(3, 5), accent.slice(5, 7)]).size === 1;
  const turn = Math.abs(((hueOf(dark.accent) - hueOf(accent) + 540) % 360) - 180);
  if (!isGrey) expect(turn).toBeLessThan(45);
});
