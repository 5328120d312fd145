// Reads a JPEG segment by segment (ITU-T T.81 B): only those that show the picture stay, with the way in which it is turned, and nothing follows its end.
import type { Cut } from './cut.ts';

/** The frames that browsers show: baseline, extended, progressive. */
const frames = new Set([0xc0, 0xc1, 0xc2]);
/** Tables: of Huffman codes, of quantization, and the interval of restarts. */
const tables = new Set([0xc4, 0xdb, 0xdd]);
const [start, end, scan] = [0xd8, 0xd9, 0xda] as const;

export function cutJpeg(file: Buffer): Cut {
  const parts = [file.subarray(0, 2)];
  let [width, height, scans] = [0, 0, 0];
  let orientation = 1;
  let at = 2;
  for (;;) {
    const marker = file[at + 1];
    if (file[at] !== 0xff || marker === undefined || marker === start) return 'picture-damaged';
    if (marker === end) {
      parts.push(file.subarray(at, at + 2));
      at += 2;
      break;
    }
    if (at + 4 > file.length) return 'picture-damaged';
    const next = at + 2 + file.readUInt16BE(at + 2);
    const data = file.subarray(at + 4, next);
    if (next < at + 4 || next > file.length) return 'picture-damaged';
    if (frames.has(marker)) {
      if (width > 0 || data.length < 6) return 'picture-damaged';
      [height, width] = [data.readUInt16BE(1), data.readUInt16BE(3)];
      // a height that only a later segment says is 0 here
      if (width === 0 || height === 0) return 'picture-damaged';
    }
    const whole = file.subarray(at, next);
    if (marker === scan) {
      if (width === 0) return 'picture-damaged';
      scans++;
      const after = endOfScan(file, next);
      parts.push(file.subarray(at, after));
      at = after;
      continue;
    }
    if (frames.has(marker) || tables.has(marker) || isOfColours(marker, data)) parts.push(whole);
    else if (marker === 0xe0) parts.push(...withoutThumbnail(data));
    else if (marker === 0xe1) orientation = orientationIn(data) ?? orientation;
    else if (!isMetadata(marker)) return 'picture-damaged';
    at = next;
  }
  if (at !== file.length || scans === 0) return 'picture-damaged';
  if (orientation > 1) parts.splice(1, 0, turned(orientation));
  return { width, height, parts };
}

/** Where the compressed picture ends: at a marker that is none of its restarts. */
function endOfScan(file: Buffer, from: number): number {
  let at = from;
  for (;;) {
    at = file.indexOf(0xff, at);
    if (at < 0 || at + 1 >= file.length) return file.length;
    const byte = file[at + 1]!;
    // a marker may be filled up by 0xff
    if (byte === 0xff) at += 1;
    else if (byte === 0 || (byte >= 0xd0 && byte <= 0xd7)) at += 2;
    else return at;
  }
}

/** The profile of the colours, and Adobe's word how they are encoded. */
const isOfColours = (marker: number, data: Buffer): boolean =>
  (marker === 0xe2 && data.toString('latin1', 0, 12) === 'ICC_PROFILE\0') ||
  (marker === 0xee && data.length === 12 && data.toString('latin1', 0, 5) === 'Adobe');

/** Segments of programs, and comments. */
const isMetadata = (marker: number): boolean => (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe;

/** JFIF's own segment, whose small picture may show what was cut off. */
function withoutThumbnail(data: Buffer): Buffer[] {
  if (data.length < 14 || data.toString('latin1', 0, 5) !== 'JFIF\0') return [];
  return [Buffer.concat([Buffer.from('ffe00010', 'hex'), data.subarray(0, 12), Buffer.alloc(2)])];
}

/** How the picture is turned (Exif 3.0, tag 0x0112), from 1 to 8. */
function orientationIn(data: Buffer): number | undefined {
  const tiff = data.subarray(6);
  const order = tiff.toString('latin1', 0, 2);
  if (data.toString('latin1', 0, 6) !== 'Exif\0\0' || tiff.length < 8 || !/^(II|MM)$/.test(order)) return undefined;
  const short = (at: number) =>
    at + 2 > tiff.length ? 0 : order === 'II' ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at);
  const first = order === 'II' ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  const count = Math.min(short(first), 100);
  for (let entry = first + 2; entry < first + 2 + 12 * count; entry += 12) {
    if (short(entry) !== 0x0112) continue;
    const value = short(entry + 8);
    return value >= 1 && value <= 8 ? value : undefined;
  }
  return undefined;
}

/** A segment that says nothing but how the picture is turned. */
function turned(orientation: number): Buffer {
  const segment = Buffer.from(
    'ffe10022' + '457869660000' + '4d4d002a00000008' + '0001' + '0112000300000001' + '00000000' + '00000000',
    'hex',
  );
  segment.writeUInt16BE(orientation, 28);
  return segment;
}
