// Says at which address an uploaded image is: the last part is its key, which cannot be guessed, and its type.
import type { PictureType } from './picture.ts';

/** Below the base address. */
export const imagePath = '/assets/images';
const fileName = /^([A-Za-z0-9_-]{22})\.(jpeg|png|webp)$/;

export const fileNameOf = (key: string, type: PictureType): string => `${key}.${type}`;

/** The key and the type that a file name says; undefined for a name of another form. */
export function readFileName(name: string): { key: string; type: PictureType } | undefined {
  const [, key, type] = fileName.exec(name) ?? [];
  // the pattern names the types
  return key === undefined ? undefined : { key, type: type as PictureType };
}

/**
 * The path of the uploaded image that an address names, below the base address; undefined for an address elsewhere. Pages load pictures from the
 * service alone, so that only this form of the address counts, and not its host.
 */
export function ownImage(address: unknown): string | undefined {
  if (typeof address !== 'string') return undefined;
  const at = address.lastIndexOf(`${imagePath}/`);
  const path = at < 0 ? '' : address.slice(at);
  return readFileName(path.slice(imagePath.length + 1)) && path;
}

/** The path of the uploaded logo of a client or a connection, if there is one. */
export const logoOf = ({ logo }: { logo: string | undefined }): string | undefined => logo && `${imagePath}/${logo}`;
