// Recognises the images that the service accepts, by their bytes: PNG and WebP.

export type ImageType = 'png' | 'webp';

export const maxImageSize = 256 * 1024; // bytes

const pngSignature = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const pngEnd = Buffer.from('0000000049454e44ae426082', 'hex');

/** Undefined for any other file, for one that is cut off, and for one that goes on after its image. */
export function imageTypeOf(content: Buffer): ImageType | undefined {
  if (content.subarray(0, 16).equals(pngSignature) && content.subarray(-12).equals(pngEnd)) return 'png';
  const isWebp =
    /^RIFF[^]{4}WEBPVP8[ LX]/.test(content.toString('latin1', 0, 16)) &&
    // the size without its own header, padded to an even number
    content.readUInt32LE(4) + 8 === content.length;
  return isWebp ? 'webp' : undefined;
}
