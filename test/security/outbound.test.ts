// Tests which addresses the outbound guard refuses before it connects.
import { expect, test } from 'vitest';
import { createGuardedFetch, createGuardedPost, FetchRefused } from '../../src/outbound/guarded-fetch.ts';

const own = ['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0.0.0.0', 'localhost', '[::1]', '[::]'];
const wide = ['10.1.2.3', '172.16.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1', '192.0.0.8', '198.18.0.1'];
const unusable = ['192.0.2.1', '198.51.100.7', '203.0.113.9', '224.0.0.1', '240.0.0.1', '255.255.255.255'];
const six = ['[fc00::1]', '[fe80::1]', '[fec0::1]', '[ff02::1]', '[100::1]', '[2001:db8::1]', '[2001::1]', '[3fff::1]'];
const fourInSix = [
  '[::ffff:10.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[::10.0.0.1]',
  '[64:ff9b::a00:1]',
  '[64:ff9b:1::a00:1]',
  '[2002:a00:1::]',
];

test.each([...own, ...wide, ...unusable, ...six, ...fourInSix])(
  'the service sends nothing to %s, however it is written (security R47)',
  async (host) => {
    for (const ask of [createGuardedFetch([]), (url: string) => createGuardedPost([])(url, {})]) {
      const sent = async (): Promise<unknown> => ask(`https://${host}/`);
      const refusal: unknown = await sent().catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(FetchRefused);
      // the guard refuses it, whether or not a server listens there
      expect((refusal as Error & { cause: Error }).cause.message).toContain('is not allowed');
    }
  },
);

test.each(['http://rp.example.com/', 'ftp://rp.example.com/', 'file:///etc/passwd', 'data:,x', 'nonsense'])(
  'the service sends no request to %s (security R47)',
  async (url) => {
    await expect(Promise.resolve().then(() => createGuardedFetch(['other.example:80'])(url))).rejects.toThrow(
      FetchRefused,
    );
  },
);
