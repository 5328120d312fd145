// Builds the mail that tells a user of a sign-in, or of failures at one: when, from where, and in which browser.
import type { FastifyRequest } from 'fastify';
import type { QueuedMail } from '../repositories/outbox/mails.ts';
import { browserAndSystem } from '../domain/sessions/browser-name.ts';
import { languagesOf } from '../server/accept-language.ts';
import { clientAddress } from '../server/network.ts';

export const securityNotification = (
  name: 'new-sign-in' | 'second-step-failed',
  request: FastifyRequest,
  sub: string,
): QueuedMail & { sub: string } => ({
  name,
  sub,
  locale: languagesOf(request),
  data: {
    ...browserAndSystem(request.headers['user-agent']),
    address: clientAddress(request),
    at: new Date().toISOString(),
  },
});
