// Small images, and files that look like one.

/** One dot. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);
/** One dot. */
export const webp = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64');

/** A PNG of exactly `size` bytes: padding before its last chunk. */
export const pngOf = (size: number): Buffer =>
  Buffer.concat([png.subarray(0, -12), Buffer.alloc(size - png.length), png.subarray(-12)]);

export const notImages: Record<string, Buffer> = {
  'an SVG': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
  'a JPEG': Buffer.from('ffd8ffe000104a46494600010101', 'hex'),
  'a GIF': Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00;', 'latin1'),
  'an HTML page': Buffer.from('<!doctype html><script>alert(1)</script>'),
  'a PNG that is cut off': png.subarray(0, -4),
  'a PNG with a page after it': Buffer.concat([png, Buffer.from('<script>alert(1)</script>')]),
  'the beginning of a PNG alone': png.subarray(0, 8),
  'a WebP that is cut off': webp.subarray(0, -4),
  'a WebP with a page after it': Buffer.concat([webp, Buffer.from('<script>alert(1)</script>')]),
  'an empty file': Buffer.alloc(0),
};
