// Declares the operation that returns the OpenAPI document: GET /admin/api/openapi.json.
import { type Operation, operation } from '../operations/operation.ts';

/** The version of the admin routes, which every response has in the header Api-Version. */
export const apiVersion = '1.0';

/** Makes the operation that returns the document of `others` and of itself. */
export function openapiOperation(others: readonly Operation[]): Operation {
  const document: Operation = operation({
    permission: 'overview',
    method: 'GET',
    path: '/admin/api/openapi.json',
    tag: 'document',
    summary: 'This document',
    answer: 'OpenApi',
    // loaded when it is asked for: the schemas of answers are a tenth of those of the service
    handler: async ({ config }) =>
      (await import('./openapi-document.ts')).openapiDocument([...others, document], config, apiVersion),
  });
  return document;
}
