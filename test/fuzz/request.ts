// Generates requests to one route: mostly valid ones with a few hostile parts, so that they pass the first check.
import fc from 'fast-check';
import { bytesOf, encode, type Encoding, encoding, json, jsonText, text } from './hostile.ts';
import type { Route } from './route.ts';
import type { World } from './world.ts';

/** A request before values replace the names of the world: small, and the same for the same seed. */
export interface Sketch {
  path: Record<string, string>;
  query: [name: string, value: string][];
  headers: [name: string, value: string][];
  body:
    { type: string | undefined; form?: [string, string][]; json?: Record<string, unknown>; text?: string } | undefined;
  encoding: Encoding;
  /** Which of several values of the world. */
  turn: number;
}

const seldom = <T>(good: fc.Arbitrary<T>, hostile: fc.Arbitrary<T>, weight = 9): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: good }, { weight: 1, arbitrary: hostile });

/** Whether a parameter is sent: nearly always, or seldom. @param count of the parameters: of very many a request has few */
const present = (name: string, count = 0): fc.Arbitrary<boolean> => {
  const usual = !name.endsWith('?');
  return seldom(fc.constant(usual), fc.constant(!usual), usual || count < 30 ? 14 : count);
};
const bare = (name: string): string => name.replace('?', '');

/** Known parameters with valid values, some missing, some hostile, and now and then unknown, repeated, or very many. */
function parameters(known: Record<string, readonly string[]>): fc.Arbitrary<[string, string][]> {
  const each = Object.entries(known).map(([name, good]) =>
    fc
      .tuple(present(name), seldom(fc.constantFrom(...good), text))
      .map(([sent, value]): [string, string][] => (sent ? [[bare(name), value]] : [])),
  );
  const names = Object.keys(known).map(bare);
  const strange = fc.tuple(names.length > 0 ? fc.oneof(fc.constantFrom(...names), text) : text, text);
  const more = seldom(
    fc.constant<[string, string][]>([]),
    fc.oneof(
      fc.array(strange, { maxLength: 3 }),
      fc
        .constantFrom(64, 65, 1000)
        .map((count) => Array.from({ length: count }, (_, index): [string, string] => [`p${index}`, 'x'])),
    ),
    4,
  );
  return fc.tuple(...each, more).map((lists) => lists.flat());
}

function jsonBody(known: Record<string, readonly unknown[]>): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.entries(known).map(([name, good], _, { length }) =>
    fc
      .tuple(present(name, length), seldom<unknown>(fc.constantFrom(...good), json))
      .map(([sent, value]) => (sent ? { [bare(name)]: value } : {})),
  );
  const strange = seldom(fc.constant({}), fc.dictionary(text, json, { maxKeys: 3 }), 6);
  return fc.tuple(...members, strange).map((parts) => Object.assign({}, ...parts) as Record<string, unknown>);
}

const forms = 'application/x-www-form-urlencoded';
const types = [
  forms,
  'application/json',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded\ta',
  '',
  'x',

  'application/json; charset=utf-16',
  'APPLICATION/JSON',
  `${forms};charset=utf-7`,
  'application/jwt',
  'application/json, text/html',
];

function body(route: Route, method: string): fc.Arbitrary<Sketch['body']> {
  const hostile = fc.record({
    type: fc.option(fc.constantFrom(...types), { nil: undefined }),
    text: fc.oneof(jsonText, text, fc.constant('a=b'), fc.constant(`a=${'x'.repeat(70_000)}`)),
  });
  const { form, json: members } = route;
  if (form) return seldom<Sketch['body']>(fc.record({ type: fc.constant(forms), form: parameters(form) }), hostile);
  if (members) {
    const good = fc.record({
      type: fc.constantFrom('application/json', 'application/json; charset=utf-8'),
      json: jsonBody(members),
    });
    return seldom<Sketch['body']>(good, hostile, 4);
  }
  return seldom<Sketch['body']>(fc.constant(undefined), hostile, method === 'GET' || method === 'HEAD' ? 19 : 4);
}

const strangeHeaders = [
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'Forwarded',
  'User-Agent',
  'Accept-Language',
  'If-Match',

  'Idempotency-Key',
  '__proto__',
  'Prefer',
  'Origin',
  'Referer',
  'Accept',
  'Authorization',
  'Cookie',
  'Content-Length',

  'Transfer-Encoding',
  'Expect',
  'Host',
  'Sec-Fetch-Site',
  'Sec-Fetch-Dest',
  'Sec-Purpose',
  'X-HTTP-Method-Override',
  'Content-Encoding',
  'Range',
  'If-None-Match',
  'Upgrade',
  'Access-Control-Request-Method',
  'DPoP',
  'Connection',
];

const hostileCookies = text.chain((value) =>
  fc.constantFrom(
    `JSESSIONOPENID=${value}`,
    `JSESSIONOPENID=${value}; JSESSIONOPENID=x`,
    `GATEHOUSE_BROWSER=${value}; JSESSIONOPENID="${value}"`,
    `GATEHOUSE_BROWSER_STATE=${value}`,
    value,
  ),
);
const hostileAuthorization = fc.oneof(
  text.map((value) => `Bearer ${value}`),
  text.map((value) => `Basic ${value}`),
  fc
    .tuple(text, text)
    .map(
      ([name, secret]) =>
        `Basic ${Buffer.from(`${encodeURIComponent(name.toWellFormed())}:${secret}`).toString('base64')}`,
    ),
  text,
);

function headers(route: Route): fc.Arbitrary<[string, string][]> {
  const list = (name: string, value: fc.Arbitrary<string>) =>
    value.map((each): [string, string][] => (each === '' ? [] : [[name, each]]));
  const parts: fc.Arbitrary<[string, string][]>[] = [
    seldom(
      fc.constant<[string, string][]>([]),
      fc.array(fc.tuple(fc.constantFrom(...strangeHeaders), text), { maxLength: 3 }),
      4,
    ),
  ];
  if (route.authorization)
    parts.push(list('Authorization', seldom(fc.constantFrom(...route.authorization), hostileAuthorization)));
  if (route.proof) {
    const hostile = fc.oneof(
      text,
      fc.tuple(text, text, text).map((each) => each.map((part) => Buffer.from(part).toString('base64url')).join('.')),
      fc.tuple(fc.constantFrom(...route.proof), text).map(([proof, more]) => `${proof}, ${more}`),
    );
    const sent = seldom(fc.constantFrom(...route.proof), hostile, 3);
    parts.push(list('DPoP', fc.oneof(fc.constant(''), sent)));
  }
  if (route.cookies) {
    parts.push(list('Cookie', seldom(fc.constantFrom(...route.cookies), hostileCookies)));
    parts.push(list('Accept', seldom(fc.constant('text/html'), fc.constantFrom('*/*', 'application/json', ''))));
    parts.push(list('Sec-Fetch-Site', seldom(fc.constant('same-origin'), fc.constantFrom('cross-site', 'none', ''))));
    parts.push(list('Sec-Fetch-Dest', seldom(fc.constant('document'), fc.constantFrom('image', 'iframe', ''), 19)));
  }
  return fc.tuple(...parts).map((each) => each.flat());
}

export function sketches(method: string, route: Route): fc.Arbitrary<Sketch> {
  const path = Object.entries(route.path ?? {}).map(([name, good]) => [
    name,
    seldom(fc.constantFrom(...good), text, 4),
  ]);
  return fc.record({
    path: fc.record(Object.fromEntries(path) as Record<string, fc.Arbitrary<string>>),
    query: route.query ? parameters(route.query) : seldom(fc.constant<[string, string][]>([]), parameters({})),
    headers: headers(route),
    body: body(route, method),
    encoding,
    turn: fc.nat(3),
  });
}

/** The bytes of a request, each character one byte. */
export function written(method: string, template: string, sketch: Sketch, world: World, host: string): string {
  const { turn, encoding: how } = sketch;
  const real = (value: string): string => {
    const values = value.startsWith('@') ? world.get(value.slice(1)) : undefined;
    return values ? (values[turn % values.length] ?? '') : value;
  };
  const deep = (value: unknown): unknown => (typeof value === 'string' ? real(value) : value);
  const pairs = (list: [string, string][]) =>
    list.map(([name, value]) => `${encode(name, how)}=${encode(real(value), how)}`).join('&');
  // a path is always close enough to be this route's, or no route's
  const path = template.replace(/:(\w+)|(\*)/g, (_match, name: string | undefined) =>
    encode(real(sketch.path[name ?? '*']!), 'percent'),
  );
  const address =
    (path.startsWith('/') ? path : `/${path.replaceAll('%2f', '/')}`) +
    (sketch.query.length > 0 ? `?${pairs(sketch.query)}` : '');
  const lines = sketch.headers.map(([name, value]) => `${name}: ${bytesOf(real(value))}`);
  let content = '';
  const { body } = sketch;
  if (body) {
    if (body.type !== undefined) lines.push(`Content-Type: ${body.type}`);
    if (body.form) content = pairs(body.form);
    else if (body.json) {
      content = bytesOf(
        JSON.stringify(Object.fromEntries(Object.entries(body.json).map(([name, value]) => [name, deep(value)]))),
      );
    } else content = bytesOf(body.text!);
    lines.push(`Content-Length: ${content.length}`);
  }
  return [`${method} ${address} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...lines, '', content].join('\r\n');
}
