// Reads a PNG chunk by chunk (PNG Third Edition 5): each has its checksum, only those that show the picture stay, and nothing follows the last.
import { crc32 } from 'node:zlib';
import type { Cut } from './cut.ts';

const signature = 8; // bytes
/** What a picture needs, and what says how its colours are shown. */
const kept = new Set('IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP cICP sBIT bKGD pHYs'.split(' '));
const moving = new Set(['acTL', 'fcTL', 'fdAT']);
/** The bits of a sample that each type of colour may have. */
const depths: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};

export function cutPng(file: Buffer): Cut {
  const parts = [file.subarray(0, signature)];
  const names: string[] = [];
  let [width, height] = [0, 0];
  let at = signature;
  while (names.at(-1) !== 'IEND') {
    const chunk = chunkAt(file, at);
    if (!chunk || !isInPlace(chunk, names)) return 'picture-damaged';
    const { name, data, whole } = chunk;
    if (moving.has(name)) return 'picture-moving';
    if (name === 'IHDR') [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
    if (kept.has(name)) parts.push(whole);
    names.push(name);
    at += whole.length;
  }
  const isWhole = at === file.length && names.includes('IDAT') && width > 0 && height > 0;
  return isWhole ? { width, height, parts } : 'picture-damaged';
}

interface Chunk {
  name: string;
  data: Buffer;
  whole: Buffer;
}

/** Undefined for one that is cut off, or that has a wrong checksum. */
function chunkAt(file: Buffer, at: number): Chunk | undefined {
  // its length, its name and its checksum have 4 bytes each
  if (at + 12 > file.length) return undefined;
  const length = file.readUInt32BE(at);
  const end = at + 12 + length;
  if (end > file.length || crc32(file.subarray(at + 4, end - 4)) !== file.readUInt32BE(end - 4)) return undefined;
  return {
    name: file.toString('latin1', at + 4, at + 8),
    data: file.subarray(at + 8, end - 4),
    whole: file.subarray(at, end),
  };
}

/** The header comes first and once, and the end is empty. A reader must know every chunk whose name begins with a capital. */
function isInPlace({ name, data }: Chunk, before: readonly string[]): boolean {
  if (!/^[A-Za-z]{4}$/.test(name) || (name === 'IHDR') !== (before.length === 0)) return false;
  if (name === 'IHDR') return data.length === 13 && (depths[data[9]!]?.includes(data[8]!) ?? false);
  if (name === 'IEND') return data.length === 0;
  return /^[a-z]/.test(name) || kept.has(name);
}
