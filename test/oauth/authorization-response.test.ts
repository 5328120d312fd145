// Whether an authorization response is issued, as a table.
import { expect, test } from 'vitest';
import { decideResponse, type ResponseFacts, type ResponseRequest } from '../../src/oauth/authorization-response.ts';

/** A code for a live session with a grant, in which two codes wait. */
const usual: ResponseFacts & ResponseRequest = {
  answered: false,
  live: true,
  clientVersion: 3,
  grant: { scope: ['openid', 'email'], claims: ['birthdate'] },
  ages: [59, 61],
  codes: ['older', 'newer'],
  scope: ['openid'],
  claims: [],
  hasCode: true,
  maxCodes: 5,
  maxPerMinute: 0,
};
const none = { scope: [], claims: [] };
const issued = { replaces: [] };
const refused = (refusal: string) => ({ refusal });

test.each<[string, Partial<ResponseFacts>, Partial<ResponseRequest>, object]>([
  ['a response is issued', {}, {}, issued],
  ['another tab answered the request', { answered: true }, {}, refused('answered')],
  ['the session ended, or the user or the client was disabled', { live: false }, {}, refused('ended')],
  ['the client changed since the request was validated', {}, { clientVersion: 2 }, refused('ended')],
  ['the user withdrew the grant', { grant: undefined }, {}, refused('ended')],
  ['the grant does not cover the scope', {}, { scope: ['openid', 'profile'] }, refused('ended')],
  ['the grant does not cover a claim', {}, { claims: ['address'] }, refused('ended')],
  ['the grant covers scope and claim', {}, { scope: ['email'], claims: ['birthdate'] }, issued],
  ['an empty grant covers no scope', { grant: none }, {}, refused('ended')],
  ['the session is at the limit of a minute', {}, { maxPerMinute: 1 }, refused('limit')],
  ['a response of an earlier minute does not count', {}, { maxPerMinute: 2 }, issued],
  ['the oldest code ends at the limit of codes', {}, { maxCodes: 2 }, { replaces: ['older'] }],
  ['the short form replaces all codes (security A110)', {}, { maxCodes: 1 }, { replaces: ['older', 'newer'] }],
  ['a response without a code ends none', {}, { maxCodes: 1, hasCode: false }, issued],
])('%s (security R4, R19, R30, R42)', (_, facts, request, expected) => {
  expect(decideResponse({ ...usual, ...facts }, { ...usual, ...request })).toEqual(expected);
});
