// An uploaded picture is checked part by part, and keeps nothing that says more than the picture.
import { expect, test } from 'vitest';
import { ownImage, readFileName } from '../../src/rules/images/address.ts';
import { maxPictureSize, type Picture, readPicture } from '../../src/rules/images/picture.ts';
import {
  chunkOfPng,
  chunkOfWebp,
  exif,
  jpeg,
  notImages,
  png,
  pngOfEdge,
  progressiveJpeg,
  segmentOfJpeg,
  webp,
  webpOf,
  wholeWebp,
} from '../helpers/images.ts';

const secret = '48.8584N 2.2945E <script>alert(1)</script>';
const read = (file: Buffer): Picture => {
  const picture = readPicture(file);
  if (typeof picture === 'string') throw new Error(picture);
  return picture;
};
const before = (file: Buffer, end: number, ...parts: Buffer[]) =>
  Buffer.concat([file.subarray(0, file.length - end), ...parts, file.subarray(file.length - end)]);
const after = (file: Buffer, start: number, ...parts: Buffer[]) =>
  Buffer.concat([file.subarray(0, start), ...parts, file.subarray(start)]);

test.each<[string, Buffer, Picture['type']]>([
  ['PNG', png, 'png'],
  ['JPEG', jpeg, 'jpeg'],
  ['progressive JPEG', progressiveJpeg, 'jpeg'],
  ['WebP', webp, 'webp'],
  ['WebP with transparency', wholeWebp, 'webp'],
])('a %s without metadata stays as it is, byte by byte (federation F110)', (_kind, file, type) => {
  expect(read(file)).toEqual({ type, content: file });
});

test.each<[string, Buffer]>([
  ['texts of a PNG', before(png, 12, chunkOfPng('tEXt', Buffer.from(`Comment\0${secret}`)))],
  ['compressed texts of a PNG', before(png, 12, chunkOfPng('zTXt', Buffer.from(`Comment\0\0${secret}`)))],
  ['XMP of a PNG', before(png, 12, chunkOfPng('iTXt', Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${secret}`)))],
  ['Exif of a PNG', before(png, 12, chunkOfPng('eXIf', Buffer.from(secret)))],
  ['a chunk of a program in a PNG', before(png, 12, chunkOfPng('prVt', Buffer.from(secret)))],
  ['Exif of a JPEG', after(jpeg, 2, segmentOfJpeg(0xe1, Buffer.from(`Exif\0\0${secret}`)))],
  ['XMP of a JPEG', after(jpeg, 2, segmentOfJpeg(0xe1, Buffer.from(`http://ns.adobe.com/xap/1.0/\0${secret}`)))],
  ['IPTC of a JPEG', after(jpeg, 2, segmentOfJpeg(0xed, Buffer.from(`Photoshop 3.0\0${secret}`)))],
  ['a comment of a JPEG', after(jpeg, 2, segmentOfJpeg(0xfe, Buffer.from(secret)))],
  ['further pictures of a JPEG', after(jpeg, 2, segmentOfJpeg(0xe2, Buffer.from(`MPF\0${secret}`)))],
  ['Exif of a WebP', webpOf(wholeWebp, chunkOfWebp('EXIF', Buffer.from(secret)))],
  ['XMP of a WebP', webpOf(wholeWebp, chunkOfWebp('XMP ', Buffer.from(secret)))],
  ['a chunk of a program in a WebP', webpOf(wholeWebp, chunkOfWebp('prvt', Buffer.from(secret)))],
])('%s is removed (federation F110)', (_what, file) => {
  expect(file.includes(secret)).toBe(true);
  const { content } = read(file);
  expect(content.includes(secret)).toBe(false);
  expect([png, jpeg, wholeWebp].some((whole) => whole.equals(content))).toBe(true);
});

test('a WebP says no longer that it has Exif and XMP once they are removed (federation F110)', () => {
  const flagged = Buffer.from(webpOf(wholeWebp, chunkOfWebp('EXIF', Buffer.from(secret))));
  flagged[20]! |= 0x0c;
  expect(read(flagged).content).toEqual(wholeWebp);
});

test('the small picture of JFIF is removed, and the way in which a JPEG is turned stays (federation F110)', () => {
  const thumbnail = Buffer.concat([Buffer.from('4a46494600010100000100010101', 'hex'), Buffer.from('abc')]);
  const jfif = after(jpeg, 2, segmentOfJpeg(0xe0, thumbnail));
  expect(read(jfif).content.includes('abc')).toBe(false);
  for (const order of ['II', 'MM'] as const) {
    const turned = after(jpeg, 2, segmentOfJpeg(0xe1, exif(order, 6, secret)));
    const { content } = read(turned);
    expect(content.includes(secret)).toBe(false);
    expect(content.subarray(2, 2 + 36)).toEqual(segmentOfJpeg(0xe1, exif('MM', 6)));
    // and is read again
    expect(read(content).content).toEqual(content);
  }
  const wrong = after(jpeg, 2, segmentOfJpeg(0xe1, exif('II', 9)));
  expect(read(wrong).content).toEqual(jpeg);
});

const sized = (width: number, height: number) => {
  const file = Buffer.from(jpeg);
  const frame = file.indexOf(Buffer.from('ffc0', 'hex'));
  file.writeUInt16BE(height, frame + 5);
  file.writeUInt16BE(width, frame + 7);
  return file;
};
const largeWebp = (name: 'VP8X' | 'VP8L') => {
  const file = Buffer.from(name === 'VP8X' ? wholeWebp : webp);
  if (name === 'VP8X') file.writeUIntLE(19_999, 24, 3);
  else file.writeUInt32LE((19_999 & 0x3fff) | (99 << 14), 21);
  return file;
};

test.each<[string, Buffer]>([
  ['a PNG of 20,000 x 20,000', pngOfEdge(20_000, 20_000)],
  ['a PNG of 4,097 x 1', pngOfEdge(4097, 1)],
  ['a PNG of 1 x 4,097', pngOfEdge(1, 4097)],
  ['a PNG of 4,294,967,295 x 1', pngOfEdge(0xffffffff, 1)],
  ['a JPEG of 20,000 x 20,000', sized(20_000, 20_000)],
  ['a JPEG of 1 x 4,097', sized(1, 4097)],
  ['a WebP of 20,000 x 1', largeWebp('VP8X')],
])('%s pixels is refused by its header alone (federation F110)', (_what, file) => {
  expect(readPicture(file)).toBe('picture-edge');
});

test('a picture of 4,096 x 4,096 pixels is taken, and one of a mebibyte, and none of a byte more (federation F110)', () => {
  expect(read(pngOfEdge(4096, 4096)).type).toBe('png');
  const padded = (size: number) => before(png, 12, chunkOfPng('IDAT', Buffer.alloc(size - png.length - 12)));
  expect(padded(maxPictureSize)).toHaveLength(maxPictureSize);
  expect(read(padded(maxPictureSize)).content).toHaveLength(maxPictureSize);
  expect(readPicture(padded(maxPictureSize + 1))).toBe('picture-size');
});

const page = Buffer.from('<!doctype html><script>alert(1)</script>');
const wrongSum = Buffer.from(png);
wrongSum[png.length - 1]! ^= 1;
const wrongData = Buffer.from(png);
wrongData[png.indexOf('IDAT') + 6]! ^= 1;

test.each<[string, Buffer]>([
  ['a PNG with a page after it', Buffer.concat([png, page])],
  ['a PNG that is cut off', png.subarray(0, -4)],
  ['a PNG without its end', png.subarray(0, -12)],
  ['a PNG with a wrong checksum at its end', wrongSum],
  ['a PNG with other data than its checksum', wrongData],
  ['a PNG without data', Buffer.concat([png.subarray(0, 33), png.subarray(-12)])],
  ['a PNG whose header comes twice', after(png, 33, png.subarray(8, 33))],
  ['a PNG that begins with another chunk', after(png, 8, chunkOfPng('tEXt', Buffer.from('a\0b')))],
  ['a PNG with a chunk that every reader must know', before(png, 12, chunkOfPng('ABCD', page))],
  ['a PNG whose chunk is longer than the file', before(png, 12, Buffer.from('7fffffff49444154', 'hex'))],
  ['a PNG without pixels', pngOfEdge(0, 0)],
  ['the signature of a PNG alone', png.subarray(0, 8)],
  ['a JPEG with a page after it', Buffer.concat([jpeg, page])],
  ['a JPEG with a second picture after it', Buffer.concat([jpeg, jpeg])],
  ['a JPEG that is cut off', jpeg.subarray(0, -2)],
  ['a JPEG that is cut off in its data', jpeg.subarray(0, -10)],
  ['a JPEG without pixels', sized(0, 0)],
  ['a JPEG whose height comes later', sized(4, 0)],
  ['a JPEG without data', Buffer.from('ffd8ffd9', 'hex').fill(0xff, 2, 3)],
  ['a JPEG whose segment has no length', Buffer.from('ffd8ffe0', 'hex')],
  ['a JPEG whose segment is longer than the file', Buffer.from('ffd8ffe0ffff', 'hex')],
  ['a JPEG whose segment says a length of 0', Buffer.from('ffd8ffe00000ffd9', 'hex')],
  ['a WebP with a page after it', Buffer.concat([webp, page])],
  ['a WebP that is cut off', webp.subarray(0, -4)],
  ['a WebP without a picture', webpOf(webp.subarray(0, 12))],
  ['a WebP with two pictures', webpOf(webp, webp.subarray(12))],
  ['a WebP of another kind', webpOf(webp.subarray(0, 12), chunkOfWebp('VP9 ', page))],
  ['a WebP whose picture is a page', webpOf(webp.subarray(0, 12), chunkOfWebp('VP8L', page))],
  ['a WebP whose old form is a page', webpOf(webp.subarray(0, 12), chunkOfWebp('VP8 ', page))],
])('%s is refused as damaged (federation F110)', (_what, file) => {
  expect(readPicture(file)).toBe('picture-damaged');
});

test.each<[string, Buffer]>([
  ['a PNG', after(png, 33, chunkOfPng('acTL', Buffer.from('0000000200000000', 'hex')))],
  ['a WebP', webpOf(wholeWebp, chunkOfWebp('ANIM', Buffer.alloc(6)))],
])('%s that moves is refused (federation F110)', (_what, file) => {
  expect(readPicture(file)).toBe('picture-moving');
});

test.each(Object.entries(notImages).filter(([, file]) => typeof readPicture(file) === 'string'))(
  '%s named as a picture is refused (federation F110)',
  (_what, file) => {
    expect(['picture', 'picture-damaged']).toContain(readPicture(file));
  },
);

test('no cut and no changed byte of a picture makes the reader fail or wait (federation F110)', () => {
  for (const file of [png, jpeg, progressiveJpeg, webp, wholeWebp])
    for (let at = 0; at < file.length; at++) {
      expect(typeof readPicture(file.subarray(0, at)), `${at} bytes`).toBe('string');
      for (const byte of [0x00, 0xff, file[at]! ^ 1]) {
        const changed = Buffer.from(file);
        changed[at] = byte;
        const picture = readPicture(changed);
        // what is kept is read again in the same way
        if (typeof picture !== 'string') expect(readPicture(picture.content)).toEqual(picture);
      }
    }
});

test.each<[unknown, string | undefined]>([
  ['https://login.example/assets/images/AbCdEfGhIjKlMnOpQrStUv.png', '/assets/images/AbCdEfGhIjKlMnOpQrStUv.png'],
  ['https://login.example/id/assets/images/AbCdEfGhIjKlMnOpQrStUv.webp', '/assets/images/AbCdEfGhIjKlMnOpQrStUv.webp'],
  ['https://face.example/ada.png', undefined],
  ['https://login.example/assets/images/../../logout', undefined],
  ['https://login.example/assets/images/AbCdEfGhIjKlMnOpQrStUv.png?x=1', undefined],
  ['https://login.example/assets/images/AbCdEfGhIjKlMnOpQrStUv.svg', undefined],
  ['', undefined],
  [undefined, undefined],
  [7, undefined],
])('the picture %j is shown from %j (pages, a picture of oneself)', (address, path) => {
  expect(ownImage(address)).toBe(path);
});

test('the name of a file of another form names no image (pages, a picture of oneself)', () => {
  expect(readFileName('AbCdEfGhIjKlMnOpQrStUv.jpeg')).toEqual({ key: 'AbCdEfGhIjKlMnOpQrStUv', type: 'jpeg' });
  for (const name of [
    'AbCdEfGhIjKlMnOpQrStUv',
    'short.png',
    'AbCdEfGhIjKlMnOpQrStUv.png\n',
    'AbCdEfGhIjKlMnOpQrStU/.png',
  ])
    expect(readFileName(name), name).toBeUndefined();
});
