// Reads an uploaded picture, a PNG, JPEG or WebP: checks all its parts, and removes what says more than the picture (federation F110).
import { type Cut, type Fault, maxEdge } from './cut.ts';
import { cutJpeg } from './jpeg.ts';
import { cutPng } from './png.ts';
import { cutWebp } from './webp.ts';

export const pictureTypes = ['jpeg', 'png', 'webp'] as const;
export type PictureType = (typeof pictureTypes)[number];

export const maxPictureSize = 1024 * 1024; // bytes

export interface Picture {
  type: PictureType;
  /** Without metadata: places, times, devices, texts. */
  content: Buffer;
}

const readers: Record<PictureType, (file: Buffer) => Cut> = { jpeg: cutJpeg, png: cutPng, webp: cutWebp };

/** The type by the first bytes: the name and the type that the browser sends do not count. */
function typeOf(file: Buffer): PictureType | undefined {
  const head = file.toString('latin1', 0, 12);
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (head.startsWith('\xff\xd8\xff')) return 'jpeg';
  return /^RIFF[^]{4}WEBP$/.test(head) ? 'webp' : undefined;
}

/** The picture that a file is, or the code of what is wrong with it. */
export function readPicture(file: Buffer): Picture | Fault {
  if (file.length > maxPictureSize) return 'picture-size';
  const type = typeOf(file);
  if (!type) return 'picture';
  const cut = readers[type](file);
  if (typeof cut === 'string') return cut;
  if (cut.width > maxEdge || cut.height > maxEdge) return 'picture-edge';
  return { type, content: Buffer.concat(cut.parts) };
}
