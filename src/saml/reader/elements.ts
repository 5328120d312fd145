// Parses an admitted XML text, and gives its elements as plain values: names by namespace, attributes, children and text.
import { xmlParser } from '../libraries.ts';
import { SamlRefused } from '../refused.ts';
import { admitted, decoded } from './bounds.ts';

export interface XmlElement {
  /** Empty for none. */
  readonly namespace: string;
  readonly name: string;
  /** An attribute of a namespace has the key `{namespace}name`. Declarations of namespaces are none. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** The characters between the children. */
  readonly text: string;
}

/** A parsed text, and the nodes of the parser for the elements. Only the reader uses the nodes: they verify a signature. */
export interface ParsedXml {
  readonly text: string;
  readonly root: XmlElement;
  nodeOf(element: XmlElement): Node;
}

const declarations = 'http://www.w3.org/2000/xmlns/';
const types = { element: 1, text: 3, comment: 8 };

/** @param given bytes, or the text that a signature has verified @throws SamlRefused */
export function parseXml(given: Uint8Array | string, options: { comments?: boolean } = {}): ParsedXml {
  const text = admitted(typeof given === 'string' ? given : decoded(given), options);
  const refuse = (cause?: unknown): never => {
    throw new SamlRefused('form', 'the message is not well-formed', cause);
  };
  const { DOMParser } = xmlParser();
  const parser = new DOMParser({ errorHandler: { warning: refuse, error: refuse, fatalError: refuse } });
  const nodes = new WeakMap<XmlElement, Node>();
  const root = parser.parseFromString(text, 'text/xml').documentElement as Element | null;
  if (!root) return refuse();
  return {
    text,
    root: read(root),
    nodeOf: (element) => nodes.get(element) ?? refuse(),
  };

  function read(node: Element): XmlElement {
    const children: XmlElement[] = [];
    let [content, hasComment] = ['', false];
    for (let child = node.firstChild; child; child = child.nextSibling) {
      if (child.nodeType === types.element) children.push(read(child as Element));
      else if (child.nodeType === types.text) content += child.nodeValue ?? '';
      else if (child.nodeType === types.comment && options.comments) hasComment = true;
      else refuse();
    }
    // a comment must neither cut a value nor join two (federation F36)
    if (hasComment && content.trim() !== '') refuse();
    const element = { ...nameOf(node), attributes: attributesOf(node), children, text: content };
    nodes.set(element, node);
    return element;
  }

  function attributesOf(node: Element): Map<string, string> {
    const found = new Map<string, string>();
    for (const { namespaceURI, localName, prefix, name, value } of Array.from(node.attributes)) {
      if (namespaceURI === declarations) continue;
      if (prefix && !namespaceURI) refuse();
      const key = namespaceURI ? `{${namespaceURI}}${localName}` : name;
      if (found.has(key)) refuse();
      found.set(key, value);
    }
    return found;
  }

  function nameOf({ prefix, namespaceURI, localName, nodeName }: Element) {
    if (prefix && !namespaceURI) refuse();
    return { namespace: namespaceURI ?? '', name: localName ?? nodeName };
  }
}

/** The element and all elements below it, in the order of the text. */
export function* elementsOf(element: XmlElement): Generator<XmlElement> {
  yield element;
  for (const child of element.children) yield* elementsOf(child);
}

export const isNamed = (element: XmlElement, namespace: string, name: string): boolean =>
  element.namespace === namespace && element.name === name;

export const childrenOf = (element: XmlElement, namespace: string, name: string): XmlElement[] =>
  element.children.filter((child) => isNamed(child, namespace, name));

/** The only child of this name; undefined if there is none. @throws SamlRefused if there are several */
export function childOf(element: XmlElement, namespace: string, name: string): XmlElement | undefined {
  const [first, second] = childrenOf(element, namespace, name);
  if (second) throw new SamlRefused('form', `there are several elements ${name}`);
  return first;
}

/** The text of an element without children, as it stands. @throws SamlRefused */
export function textOf(element: XmlElement): string {
  if (element.children.length > 0) throw new SamlRefused('form', `${element.name} has elements instead of a text`);
  return element.text;
}

/** The text of an element that names an address or an identifier: the blanks around it do not count. @throws SamlRefused */
export const uriOf = (element: XmlElement): string => textOf(element).trim();
