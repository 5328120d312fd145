// Reads a posted form of the console that changes something, and that comes back to the address to which it was posted.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { singleValued } from '../../server/parameters.ts';
import type { Console, Needs } from './admin-session.ts';

/** @returns a function that resolves to undefined after it sent an answer */
export const submittedForms =
  (console: Console) => async (request: FastifyRequest, reply: FastifyReply, action: string, needs: Needs) => {
    const body = singleValued(request.body);
    const admin = await console.submitted(request, reply, {
      csrf: body['csrf'],
      action,
      back: action,
      fresh: true,
      needs,
    });
    return admin && { admin, body };
  };
