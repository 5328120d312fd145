// Declares the schemas of the answers that say why a user was refused, and what would happen now.
import { z } from 'zod';
import { errorCodes } from '../../oauth/errors.ts';
import { accessReasons } from '../../rules/access/check-access.ts';

const time = z.iso.datetime();

export const accessAnswers = {
  Refusal: z
    .object({
      reference: z.string(),
      at: time,
      error: z.enum(errorCodes),
      error_description: z.string(),
      path: z.string().optional().describe('The page, unless an event records the refusal.'),
      event: z.string().optional().describe('The ID of the event that records it.'),
      reason: z.string().optional().describe('The reason, which only the operator sees.'),
      client_id: z.string().optional(),
      client_name: z.string().optional(),
      sent: z.string().optional().describe('The address that the request named, without the values of its query.'),
      registered: z.array(z.string()).optional().describe('The addresses that the client has registered.'),
      hint: z.string().optional(),
      connection: z.string().optional(),
      problem: z.string().optional().describe('Why a sign-in by the connection ended.'),
      sub: z.string().optional(),
      username: z.string().optional().describe('The user name that belongs to `sub` now.'),
      address: z.string().optional().describe('The IP address of the browser.'),
    })
    .describe('The details of a refusal that a page showed.'),
  UserAccess: z.object({
    sub: z.string(),
    username: z.string(),
    client_id: z.string(),
    allowed: z.boolean(),
    reasons: z.array(z.enum(accessReasons)).describe('Every reason why the user may not use the client.'),
    ways: z
      .array(z.object({ connection: z.string().optional(), accepted: z.boolean() }))
      .describe('How the user can sign in, and whether the client accepts it; without a connection at this service.'),
    access_groups: z.array(z.string()).optional().describe('The groups that may use the client.'),
    networks: z.array(z.string()).optional().describe('The networks from which users may use the client.'),
    second_factor: z
      .object({ demanded_by: z.enum(['client', 'resource', 'service', 'account']), set_up: z.boolean() })
      .optional()
      .describe('Present if the sign-in asks for a second factor.'),
    consent: z.enum(['not_asked', 'given', 'asked']),
    granted_scope: z.string().optional(),
    paused_until: time.optional().describe('Until when failed sign-ins pause the account in new browsers.'),
  }),
};
