// Generates the OpenAPI 3.1 document of the admin routes from the schemas that validate their input.
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { installedVersion } from '../../config/version.ts';
import { maxAuthAge } from '../../browser/recent-sign-in.ts';
import { answers } from '../operations/answers.ts';
import { type Operation, takesBody } from '../operations/operation.ts';
import { readOnlyMembers } from './body.ts';
import { exampleBodies, exampleFiles } from './example-bodies.ts';
import { exampleOf } from './examples.ts';

const freshSignIn = `With a token of a user, the user must have signed in within the last ${maxAuthAge / 60} minutes: else 401 with insufficient_user_authentication (RFC 9470), and a token of an authorization with max_age=${maxAuthAge} is needed.`;

type Json = Record<string, unknown>;

/**
 * Describes operations for one configuration: the document names the issuer and the shortest password.
 * @param routesVersion what the header Api-Version says
 */
export function openapiDocument(operations: readonly Operation[], config: Config, routesVersion: string): Json {
  const paths: Record<string, Json> = {};
  const schemas = componentSchemas();
  for (const one of operations) {
    const path = one.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [one.method.toLowerCase()]: entryOf(one, config, schemas) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Gatehouse: the admin routes',
      // of the service: the version of the routes is in the header Api-Version
      version: installedVersion(),
      description:
        'For programs and consoles of administrators. Within a major version it changes only by addition: ignore members that you do not know. Lists are newest first; a page that may have a next one has next_cursor.',
    },
    servers: [{ url: config.issuer }],
    security: [{ accessToken: [] }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      headers: {
        ApiVersion: {
          description: 'The version of the admin routes.',
          schema: { type: 'string', const: routesVersion },
        },
      },
      responses: {
        Refusal: {
          description: 'A refusal: a code, and a sentence that says what to do.',
          content: json({ $ref: '#/components/schemas/Error' }, exampleOf(schemas['Error']!, 'Error', schemas)),
        },
      },
      securitySchemes: {
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token with the scope admin, of an administrator or of a client that was given it.',
        },
      },
    },
  };
}

function entryOf(route: Operation, config: Config, schemas: Record<string, Json>): Json {
  const id = operationId(route);
  const input = route.input?.(config);
  const body = takesBody(route) ? input : undefined;
  const query = body ? undefined : (input as z.ZodObject | undefined);
  const parameters = [...parametersOf('path', route.params, schemas), ...parametersOf('query', query, schemas)];
  const shape = body && bodySchema(route, body);
  return {
    operationId: id,
    summary: route.summary,
    ...(route.needsRecentSignIn && { description: freshSignIn, 'x-max-authentication-age': maxAuthAge }),
    tags: [route.tag],
    ...(parameters.length > 0 && { parameters }),
    ...(shape && {
      requestBody: {
        required: !body.safeParse({}).success,
        content: json(shape, exampleBodies[id] ?? exampleOf(shape, id, schemas)),
      },
    }),
    ...(route.media &&
      route.media.body.length > 0 && {
        requestBody: { required: true, content: texts(route.media.body, exampleFiles[id]?.body) },
      }),
    responses: {
      [route.status]: {
        description: route.answer === undefined && !route.media ? 'Done.' : 'The answer.',
        headers: { 'Api-Version': { $ref: '#/components/headers/ApiVersion' } },
        ...(route.answer !== undefined && {
          content: json(
            { $ref: `#/components/schemas/${route.answer}` },
            exampleOf(schemas[route.answer]!, route.answer, schemas),
          ),
        }),
        ...(route.media && { content: texts(route.media.answer, exampleFiles[id]?.answer) }),
      },
      default: { $ref: '#/components/responses/Refusal' },
    },
  };
}

/** The schema of a body; a change also takes the members that only the service sets, as they are shown. */
function bodySchema(route: Operation, body: z.ZodType): Json {
  const schema = schemaOf(route.documentedInput ?? body, 'input');
  if (route.method !== 'PATCH') return schema;
  const readOnly = readOnlyMembers(route, body, answers).map((member) => [
    member,
    { readOnly: true, description: 'Set by the service: only as it was shown.' },
  ]);
  return { ...schema, properties: { ...(schema['properties'] as Json), ...Object.fromEntries(readOnly) } };
}

/** The parameters with the types that their text is parsed to, such as a number for `limit`. */
function parametersOf(place: 'path' | 'query', shape: z.ZodObject | undefined, schemas: Record<string, Json>): Json[] {
  if (!shape) return [];
  const { properties = {} } = schemaOf(shape, 'output') as { properties?: Record<string, Json> };
  return Object.entries<z.ZodType>(shape.shape).map(([name, rule]) => ({
    name,
    in: place,
    required: !rule.safeParse(undefined).success,
    schema: properties[name],
    ...(place === 'path' && { example: exampleOf(properties[name]!, name, schemas) }),
  }));
}

function componentSchemas(): Record<string, Json> {
  const registry = z.registry<{ id?: string }>();
  for (const [id, answer] of Object.entries<z.ZodType>(answers)) registry.add(answer, { id });
  // in input mode members with a default may be missing, and a later version may add members
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, bare(schema as Json)]));
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  return bare(z.toJSONSchema(schema, { io }) as Json);
}

/** Removes the members that only a standalone schema document needs. */
function bare(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$schema' && name !== '$id'));
}

function texts(types: readonly string[], examples: Readonly<Record<string, string>> | undefined): Json {
  return Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' }, example: examples?.[type] }]));
}

function json(schema: Json, example: unknown): Json {
  return { 'application/json': { schema, example } };
}

/** `POST /admin/api/clients/:id/approve` is `post_clients_id_approve`. */
function operationId({ method, path }: Operation): string {
  const words = path.replace('/admin/api/', '').match(/\w+/g) ?? [];
  return [method.toLowerCase(), ...words].join('_').replaceAll('-', '_');
}
