// Checks the shape of every error: of an authorization response, of the token endpoint, of a registration.
import { expect } from 'vitest';
import { type HttpAnswer, mediaType } from '../bed/network.ts';

/** error_description and error_uri contain no character that would break a header or a URL (RFC 6749 5.2). */
export function checkErrorMembers(error: Record<string, unknown>): void {
  expect(error['error']).toEqual(expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/));
  const { error_description: description, error_uri: uri } = error;
  if (description !== undefined) expect(description).toEqual(expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/));
  if (uri === undefined) return;
  expect(uri).toEqual(expect.stringMatching(/^[\x21\x23-\x5b\x5d-\x7e]+$/));
  expect(URL.canParse(uri as string)).toBe(true);
}

/** An error in JSON with one of the statuses and one of the codes. */
export function checkJsonError(answer: HttpAnswer, statuses: number[], codes: string[]): void {
  expect(statuses, answer.body).toContain(answer.status);
  expect(mediaType(answer)).toBe('application/json');
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  checkErrorMembers(body);
  expect(codes).toContain(body['error']);
}

/** The errors with which prompt=none may be answered when the service would have to show a page. */
export const interactionErrors = [
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
];
