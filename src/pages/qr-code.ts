// Encodes a text as a QR code (ISO/IEC 18004), in the form that an SVG draws.
import { encode } from 'uqr';

export interface QrCode {
  /** Modules on each side, with the quiet zone. */
  size: number;
  /** The dark modules, as the data of one SVG path. */
  path: string;
}

/** Modules around it that stay light. */
const quietZone = 4;

export function qrCode(text: string): QrCode {
  const { data, size } = encode(text, { ecc: 'L', border: quietZone });
  const runs = data.flatMap((row, y) =>
    [
      ...row
        .map((dark) => (dark ? '1' : '0'))
        .join('')
        .matchAll(/1+/g),
    ].map(({ index, 0: run }) => `M${index} ${y}h${run.length}v1h-${run.length}z`),
  );
  return { size, path: runs.join('') };
}
