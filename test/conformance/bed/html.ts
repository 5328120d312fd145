// Reads the HTML and the policies of the service's pages: forms, links, pictures, frames, and what the CSP allows them.
import { createHash } from 'node:crypto';

export interface Form {
  action: string;
  method: string;
  enctype: string | undefined;
  /** The fields that it sends when the user changes none. */
  hidden: Record<string, string>;
  /** The names of the fields to fill in. */
  fields: string[];
  /** By id: the field that the button adds. */
  buttons: Record<string, { name: string; value: string } | undefined>;
}

export type Attributes = Record<string, string>;

/** The attributes of every element of a name, in the document's order. */
export function elements(html: string, name: string): Attributes[] {
  return [...html.matchAll(new RegExp(`<${name}\\b([^>]*)>`, 'g'))].map(([, inside]) => attributes(inside!));
}

export function forms(html: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, own, inside]) => {
    const { action = '', method = 'get', enctype } = attributes(own!);
    const inputs = elements(inside!, 'input');
    const hidden = inputs.filter(({ type }) => type === 'hidden');
    return {
      action,
      method: method.toLowerCase(),
      enctype,
      hidden: Object.fromEntries(hidden.map(({ name, value }) => [name!, value ?? ''])),
      fields: inputs.filter(({ type }) => type !== 'hidden').map(({ name }) => name ?? ''),
      buttons: Object.fromEntries(
        elements(inside!, 'button').map(({ id, name, value }) => [
          id ?? '',
          name === undefined ? undefined : { name, value: value ?? '' },
        ]),
      ),
    };
  });
}

/** The text of a page's inline scripts. */
export function inlineScripts(html: string): string[] {
  return [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>(.*?)<\/script>/gs)].map(([, text]) => text!);
}

/** The page without the elements that only browsers without scripts show. */
export function scripted(html: string): string {
  return html.replace(/<noscript>.*?<\/noscript>/gs, '');
}

/** The sources that a page's Content-Security-Policy allows. */
export class Policy {
  readonly directives: ReadonlyMap<string, readonly string[]>;
  readonly own: string;

  constructor(header: string | null, own: string) {
    this.own = own;
    this.directives = new Map(
      (header ?? '')
        .split(';')
        .map((directive) => directive.trim().split(/ +/))
        .filter(([name]) => name)
        .map(([name, ...sources]) => [name!.toLowerCase(), sources]),
    );
  }

  /** Whether the directive allows a load (or a form's target) at the address. */
  allows(directive: 'img-src' | 'script-src' | 'style-src' | 'frame-src' | 'form-action', address: string): boolean {
    const fallback = directive === 'form-action' ? undefined : this.directives.get('default-src');
    const sources = this.directives.get(directive) ?? fallback;
    const url = new URL(address);
    return (
      sources === undefined ||
      sources.some(
        (source) =>
          source === '*' ||
          source === url.protocol ||
          (source === `'self'` && url.origin === this.own) ||
          (/^[a-z]+:\/\//.test(source) && new URL(source).origin === url.origin && matchesPath(source, url.pathname)),
      )
    );
  }

  allowsInline(script: string): boolean {
    const sources = this.directives.get('script-src') ?? this.directives.get('default-src');
    const hash = createHash('sha256').update(script).digest('base64');
    return sources === undefined || sources.includes(`'unsafe-inline'`) || sources.includes(`'sha256-${hash}'`);
  }
}

function matchesPath(source: string, path: string): boolean {
  const allowed = new URL(source).pathname;
  return allowed === '/' || allowed === path || (allowed.endsWith('/') && path.startsWith(allowed));
}

function attributes(inside: string): Attributes {
  return Object.fromEntries(
    [...inside.matchAll(/([a-z][a-z0-9-]*)(?:="([^"]*)")?/g)].map(([, name, value]) => [name!, unescape(value ?? '')]),
  );
}

function unescape(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
