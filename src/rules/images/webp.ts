// Reads a WebP chunk by chunk (RFC 9649): only those that show the picture stay, and nothing follows the last.
import type { Cut } from './cut.ts';

/** What a picture needs. */
const kept = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ICCP']);
const moving = new Set(['ANIM', 'ANMF']);
/** The flags of Exif, XMP and animation in the extended header. */
const [ofMetadata, ofAnimation] = [0x0c, 0x02] as const;

export function cutWebp(file: Buffer): Cut {
  if (file.length % 2 !== 0 || file.readUInt32LE(4) + 8 !== file.length) return 'picture-damaged';
  const parts: Buffer[] = [];
  const names: string[] = [];
  const edges: number[] = [];
  for (let at = 12; at < file.length;) {
    if (at + 8 > file.length) return 'picture-damaged';
    const name = file.toString('latin1', at, at + 4);
    const length = file.readUInt32LE(at + 4);
    // each chunk is filled up to an even length
    const next = at + 8 + length + (length % 2);
    if (next > file.length || (kept.has(name) && names.includes(name))) return 'picture-damaged';
    const data = file.subarray(at + 8, at + 8 + length);
    if (moving.has(name) || (name === 'VP8X' && (data[0]! & ofAnimation) !== 0)) return 'picture-moving';
    const size = sizeIn(name, data);
    if (!size) return 'picture-damaged';
    edges.push(...size);
    if (kept.has(name))
      parts.push(name === 'VP8X' ? withoutMetadata(file.subarray(at, next)) : file.subarray(at, next));
    names.push(name);
    at = next;
  }
  // a simple file is one chunk; an extended one begins with its header, and has one picture
  const pictures = names.filter((name) => name === 'VP8 ' || name === 'VP8L');
  const isWhole = pictures.length === 1 && (names[0] === 'VP8X' || (names.length === 1 && names[0] === pictures[0]));
  if (!isWhole || edges.includes(0)) return 'picture-damaged';
  const body = Buffer.concat(parts);
  const head = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1');
  head.writeUInt32LE(body.length + 4, 4);
  const [width, height] = [edges.filter((_, index) => index % 2 === 0), edges.filter((_, index) => index % 2 === 1)];
  return { width: Math.max(...width), height: Math.max(...height), parts: [head, body] };
}

/** Width and height as the chunk says them; none if it says none, and undefined if it is damaged. */
function sizeIn(name: string, data: Buffer): [] | [number, number] | undefined {
  switch (name) {
    case 'VP8X':
      return data.length === 10 ? [data.readUIntLE(4, 3) + 1, data.readUIntLE(7, 3) + 1] : undefined;
    case 'VP8L': {
      if (data.length < 5 || data[0] !== 0x2f) return undefined;
      const bits = data.readUInt32LE(1);
      // the version is 0
      return bits >>> 29 === 0 ? [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1] : undefined;
    }
    case 'VP8 ':
      // a key frame begins with these bytes
      return data.length >= 10 && (data[0]! & 1) === 0 && data.toString('hex', 3, 6) === '9d012a'
        ? [data.readUInt16LE(6) & 0x3fff, data.readUInt16LE(8) & 0x3fff]
        : undefined;
    default:
      return [];
  }
}

function withoutMetadata(chunk: Buffer): Buffer {
  const copy = Buffer.from(chunk);
  copy[8]! &= ~ofMetadata;
  return copy;
}
