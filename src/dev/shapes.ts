// Declares what the doors of `gatehouse dev` take (delivery 5).
import { z } from 'zod';
import { invalidRequest } from '../oauth/errors.ts';
import { firstRefusal, rule, sentenceOf } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';

/** The methods by which users of the service sign in (RFC 8176). */
const methods = ['pwd', 'otp', 'hwk', 'swk', 'user', 'mfa'] as const;
/** Those that a user can show first. */
const firstMethods = ['pwd', 'otp', 'hwk', 'swk'];
const tenYears = 10 * 366 * 86_400; // seconds
const decision = z.enum(['allow', 'deny'], rule('one-of', { values: 'allow, deny' })).default('allow');

const user = text(320).describe('The user name, the sub or the email address.');
const isMethod = (method: string): boolean => methods.some((known) => known === method);
const amr = z
  .array(text(20).refine(isMethod, rule('one-of', { values: methods.join(', ') })), rule('strings'))
  .max(methods.length, rule('invalid'))
  .optional();
/** Names a browser whose cookies are kept for later calls. */
const browser = text(100);
const address = z.union([text(20_000), z.record(z.string(), text(10_000))], rule('string'));

export const signInShape = z.strictObject({
  user,
  authorization_request: address.describe('The URL to which the client sends the browser, or its parameters.'),
  decision,
  amr,
  browser: browser.optional(),
});

export const signOutShape = z.strictObject({
  browser,
  end_session_request: address
    .describe('The URL to which the client sends the browser, or its parameters.')
    .default({}),
});

export const deviceShape = z.strictObject({
  user,
  user_code: text(100).describe('The code that the device shows.'),
  decision,
  amr,
  browser: browser.optional(),
});

/** As a form would have them: each member is one text. */
export const sessionShape = z.strictObject({
  user: text(320),
  amr: text(200).transform((shown) => shown.split(' ')),
  transaction: text(100).optional(),
});

const isSpan = (seconds: number): boolean => Number.isInteger(seconds) && seconds >= 0 && seconds <= tenYears;
export const timeShape = z.strictObject({
  seconds: z.number(rule('whole-seconds')).refine(isSpan, rule('seconds', { least: '0', most: String(tenYears) })),
});

/** @throws OAuthError invalid_request */
export function read<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const parsed = shape.safeParse(body, { reportInput: true });
  if (!parsed.success) throw invalidRequest(sentenceOf(firstRefusal(parsed.error, 'the request')));
  return parsed.data;
}

/** @throws OAuthError invalid_request for methods by which no sign-in begins */
export function checkMethods(shown: readonly string[]): void {
  if (!shown.some((method) => firstMethods.includes(method)))
    throw invalidRequest(`amr must contain one of ${firstMethods.join(', ')}`);
}
