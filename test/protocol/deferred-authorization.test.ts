// Every deferred authorization has two new codes: the client polls with one, and the decision is made by the other.
import { expect, test } from 'vitest';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { deferAuthorization, type DeferredCodes } from '../../src/tokens/deferred-authorization.ts';
import { opaqueTokenHash } from '../../src/tokens/opaque-token.ts';
import { verificationCodeHash } from '../../src/tokens/verification-code.ts';

const box = createSecretBox([parseSecretKey(Buffer.alloc(32, 7).toString('base64'))]);
const page = 'https://id.example/page';

test.each([
  ['device_code', 'user_code', 'user code'],
  ['registration_code', 'verification_code', 'verification code'],
] as const)('a %s is stored with a %s, and the client gets both (RFC 8628 3.2)', async (code, shown, purpose) => {
  const kept: DeferredCodes[] = [];
  const { outcome, body } = await deferAuthorization(box, { code, shown, page, lifetime: 600 }, async (codes) => {
    kept.push(codes);
    return 'stored';
  });
  expect(outcome).toBe('stored');
  const [polled, typed] = [String(body[code]), String(body[shown])];
  expect(body).toEqual({
    [code]: polled,
    [shown]: typed,
    verification_uri: page,
    verification_uri_complete: `${page}?${shown}=${typed}`,
    expires_in: 600,
    interval: 5,
  });
  expect(typed).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
  expect(kept).toEqual([
    {
      codeHash: opaqueTokenHash(code, polled),
      shownCodeHash: verificationCodeHash(box, purpose, typed),
      interval: 5,
      lifetime: 600,
    },
  ]);
});

test('a shown code that another authorization has is replaced, and any other outcome ends the attempt (RFC 8628 6.1)', async () => {
  const kept: DeferredCodes[] = [];
  const kind = { code: 'device_code', shown: 'user_code', page, lifetime: 600 } as const;
  const { outcome } = await deferAuthorization(box, kind, async (codes) => {
    kept.push(codes);
    return kept.length < 3 ? 'taken' : 'full';
  });
  expect(outcome).toBe('full');
  expect(new Set(kept.map(({ shownCodeHash }) => shownCodeHash.toString('hex'))).size).toBe(3);
  expect(new Set(kept.map(({ codeHash }) => codeHash.toString('hex'))).size).toBe(1);
});
