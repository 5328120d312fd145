// Makes the page of the site that shows each operation of the OpenAPI document with its example.
import { adminRoutes } from '../../src/admin/api/routes.ts';
import { openapiDocument } from '../../src/admin/api/openapi-document.ts';
import { apiVersion } from '../../src/admin/api/openapi.ts';
import { loadConfig } from '../../src/config.ts';

interface Content {
  example?: unknown;
}
interface Entry {
  summary: string;
  description?: string;
  tags: string[];
  parameters?: { name: string; in: string; example?: unknown; schema: { description?: string } }[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { content?: Record<string, Content> }>;
}

const issuer = 'https://id.example.com';

/** The document for an issuer of examples, and its page. */
export async function apiPage(): Promise<{ document: object; page: string }> {
  const document = openapiDocument(adminRoutes(), loadConfig({ BASE_URL: issuer, DATA_DIR: '/data' }), apiVersion);
  const paths = document['paths'] as Record<string, Record<string, Entry>>;
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, entry]) => ({ method: method.toUpperCase(), path, entry })),
  );
  const tags = [...new Set(entries.flatMap(({ entry }) => entry.tags))];
  const page = `# The admin routes

Each operation with an example of its request and its answer. Your service has the same as a document at \`/openapi.json\`, without a token; [a copy](openapi.json) is here. [For administrators](administrator.md#access-to-the-admin-routes) says how a program gets the token in \`$ADMIN\`.

${tags
  .map((tag) =>
    section(
      tag,
      entries.filter(({ entry }) => entry.tags.includes(tag)),
    ),
  )
  .join('\n')}`;
  return { document, page };
}

function section(tag: string, entries: { method: string; path: string; entry: Entry }[]): string {
  return `## ${tag}\n\n${entries.map(operation).join('\n')}`;
}

function operation({ method, path, entry }: { method: string; path: string; entry: Entry }): string {
  const parameters = entry.parameters ?? [];
  const values = Object.fromEntries(parameters.map(({ name, example }) => [name, String(example)]));
  const address = issuer + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name]!));
  const [type, body] = Object.entries(entry.requestBody?.content ?? {})[0] ?? [];
  const text = body && (typeof body.example === 'string' ? body.example : JSON.stringify(body.example));
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${address}' -H "$ADMIN"`,
    ...(text === undefined ? [] : [`  -H 'content-type: ${type}'`, `  --data-binary '${text.trimEnd()}'`]),
  ];
  const [status, answer] = Object.entries(entry.responses)[0]!;
  const [answerType, content] = Object.entries(answer.content ?? {})[0] ?? [];
  const query = parameters.filter((parameter) => parameter.in === 'query');
  return `### ${method} ${path}

${entry.summary}.${entry.description ? ` ${entry.description}` : ''}

\`\`\`sh
${lines.join(' \\\n')}
\`\`\`
${query.length > 0 ? `\nParameters: ${query.map(({ name, schema }) => `\`${name}\`${schema.description ? ` (${schema.description.replace(/\.$/, '')})` : ''}`).join(', ')}.\n` : ''}
The answer is ${status}${content === undefined ? ', without a body.' : ':'}
${content === undefined ? '' : `\n\`\`\`${answerType === 'application/json' ? 'json' : 'txt'}\n${typeof content.example === 'string' ? content.example.trimEnd() : JSON.stringify(content.example, null, 2)}\n\`\`\`\n`}`;
}
