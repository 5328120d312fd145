// Plays applications with a SCIM service (RFC 7644) on the loopback: each first segment of a path is an application, whose answers a test can replace.
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { freePort } from './server-process.ts';

export type Values = Record<string, unknown>;
export type Resource = Values & { id: string };

export interface ScimRequest {
  app: string;
  method: string;
  /** Users or Groups, or another path below the application. */
  collection: string;
  id: string | undefined;
  filter: string | undefined;
  headers: IncomingHttpHeaders;
  body: Values;
}

/** Answers in the place of the application; undefined lets the application answer. */
export type Answering = (request: ScimRequest, response: ServerResponse) => 'answered' | undefined;

const members = (resource: Resource) => (resource['members'] ?? []) as { value: string }[];

function apply(resource: Resource, operation: Values): void {
  const { op, path, value } = operation as { op: string; path: string; value: unknown };
  const removed = /^members\[value eq "(.+)"\]$/.exec(path)?.[1];
  if (removed !== undefined) resource['members'] = members(resource).filter((one) => one.value !== removed);
  else if (path === 'members') {
    const added = value as { value: string }[];
    const had = new Set(members(resource).map((one) => one.value));
    resource['members'] = [...members(resource), ...added.filter((one) => !had.has(one.value))];
  } else {
    const [name, part] = path.split('.') as [string, string | undefined];
    const values = part === undefined ? resource : ((resource[name] ??= {}) as Values);
    if (op === 'remove') Reflect.deleteProperty(values, part ?? name);
    else values[part ?? name] = value;
  }
}

export class ScimApplications {
  readonly requests: ScimRequest[] = [];
  readonly users = new Map<string, Map<string, Resource>>();
  readonly groups = new Map<string, Map<string, Resource>>();
  /** Applications without PATCH, and how each answers it. */
  readonly withoutPatch = new Map<string, number>();
  /** How an application answers, if not by itself. */
  readonly answers = new Map<string, Answering>();
  private server: Server | undefined;
  private port = 0;

  /** Listens, at the same port each time. */
  async start(): Promise<this> {
    this.server = createServer((request, response) => {
      const read = text(request).then((body) => {
        const url = new URL(request.url ?? '', 'http://app.example');
        const [app = '', collection = '', id] = url.pathname.slice(1).split('/').map(decodeURIComponent);
        const one: ScimRequest = {
          app,
          method: request.method!,
          collection,
          id,
          filter: url.searchParams.get('filter') ?? undefined,
          headers: request.headers,
          body: body.startsWith('{') ? (JSON.parse(body) as Values) : Object.fromEntries(new URLSearchParams(body)),
        };
        this.requests.push(one);
        if (this.answers.get(app)?.(one, response) === undefined) this.answer(one, response);
      });
      // a service that is killed breaks off its request
      read.catch(() => response.destroy());
    });
    this.port ||= await freePort();
    await new Promise<void>((resolve) => this.server!.listen(this.port, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => {
      if (!this.server) return resolve(undefined);
      this.server.close(resolve);
      this.server.closeAllConnections();
    });
    this.server = undefined;
  }

  /** host:port, as OUTBOUND_ALLOW takes it. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  uri(app: string): string {
    return `http://${this.host}/${app}`;
  }

  /** The resources of an application. */
  of(app: string, collection: 'Users' | 'Groups' = 'Users'): Map<string, Resource> {
    const all = collection === 'Users' ? this.users : this.groups;
    return all.get(app) ?? all.set(app, new Map()).get(app)!;
  }

  /** Puts a user there who was there before. */
  add(app: string, values: Values): Resource {
    const resource = { id: randomUUID(), ...values };
    this.of(app).set(resource.id, resource);
    return resource;
  }

  named(app: string, userName: string): Resource[] {
    return [...this.of(app).values()].filter((one) => one['userName'] === userName);
  }

  /** The requests to an application that change something. */
  writes(app: string): ScimRequest[] {
    return this.requests.filter((one) => one.app === app && one.method !== 'GET');
  }

  send(response: ServerResponse, status: number, body?: unknown, headers: Record<string, string> = {}): 'answered' {
    response.writeHead(status, { 'content-type': 'application/scim+json', ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
    return 'answered';
  }

  answer({ app, method, collection, id, filter, body, headers }: ScimRequest, response: ServerResponse): 'answered' {
    const withoutPatch = this.withoutPatch.get(app);
    if (collection === 'ServiceProviderConfig' && withoutPatch !== undefined)
      return this.send(response, 200, { patch: { supported: false } });
    if (method === 'PATCH' && withoutPatch !== undefined) return this.send(response, withoutPatch);
    if (collection !== 'Users' && collection !== 'Groups') return this.send(response, 404);
    const all = this.of(app, collection);
    const found = id === undefined ? undefined : all.get(id);
    if (id !== undefined && !found) return this.send(response, 404, { scimType: 'noTarget' });
    // the version is the content
    const etag = found && `W/"${createHash('sha256').update(JSON.stringify(found)).digest('base64')}"`;
    if (method === 'GET' && found) return this.send(response, 200, found, { etag: etag! });
    if (method === 'GET') {
      const [, name, value] = /^(\w+) eq (".*")$/.exec(filter ?? '') ?? [];
      const wanted = value === undefined ? undefined : (JSON.parse(value) as string);
      const resources = [...all.values()].filter((one) => name === undefined || one[name] === wanted);
      return this.send(response, 200, { totalResults: resources.length, Resources: resources });
    }
    if (method === 'DELETE') {
      all.delete(id!);
      return this.send(response, 204);
    }
    if (method === 'PATCH') {
      for (const operation of body['Operations'] as Values[]) apply(found!, operation);
      return this.send(response, 200, found);
    }
    if (method === 'PUT') {
      if (headers['if-match'] !== undefined && headers['if-match'] !== etag) return this.send(response, 412);
      all.set(id!, { ...body, id: id! });
      return this.send(response, 200, all.get(id!));
    }
    const key = collection === 'Users' ? 'userName' : 'displayName';
    if ([...all.values()].some((one) => one[key] === body[key]))
      return this.send(response, 409, { scimType: 'uniqueness' });
    const made = { ...body, id: randomUUID() };
    all.set(made.id, made);
    return this.send(response, 201, made, { location: `${this.uri(app)}/${collection}/${made.id}` });
  }
}
