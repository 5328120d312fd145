// Fills a form of a page with what its user typed before. The markup of our own templates is regular, so that each form can be filled.
import { escape } from './markup.ts';

/** What was typed, by the name of its control. */
export type Typed = Readonly<Record<string, string>>;

/** Changes each form of a page that posts. @param change gets the form and its address, as the page has it */
export const mapForms = (html: string, change: (form: string, action: string) => string): string =>
  html.replace(/<form\b[^>]*>[^]*?<\/form>/g, (form) => {
    const tag = /^<form[^>]*>/.exec(form)![0];
    return attribute(tag, 'method') === 'post' ? change(form, attribute(tag, 'action') ?? '') : form;
  });

/** Whether users type into a control of the form. */
export const takesText = (form: string): boolean =>
  /<textarea\b/.test(form) || /<input\b(?![^>]*\stype="(?:hidden|submit|checkbox|radio|file|button)")[^>]*>/.test(form);

/** Whether users decide anything in the form, beside its buttons and files. */
export const hasControls = (form: string): boolean =>
  takesText(form) || /<select\b|<input\b[^>]*\stype="(?:checkbox|radio)"/.test(form);

/** Whether users choose a file in the form. */
export const takesFile = (form: string): boolean => /<input\b[^>]*\stype="file"/.test(form);

/** Writes a sentence at the beginning of a form. */
export const withNotice = (form: string, text: string): string =>
  atStart(form, `<p class="notice" role="status">${escape(text)}</p>`);

/** Writes what went wrong at the beginning of a page's content. */
export const withProblem = (html: string, text: string): string =>
  html.replace(/<main\b[^>]*>/, (tag) => `${tag}\n<p class="notice problem" role="alert">${escape(text)}</p>`);

/** Fills the form of an address, but not the controls of secrets. @param notice is written at its beginning */
export function fillForm(
  html: string,
  filling: { action: string; typed: Typed; isSecret: (name: string) => boolean; notice: (form: string) => string },
): string {
  const { action, typed, isSecret, notice } = filling;
  const valueOf = (tag: string): string | undefined => {
    const name = attribute(tag, 'name');
    return name === undefined || isSecret(name) ? undefined : typed[name];
  };
  return mapForms(html, (form, its) => {
    if (its !== action || !(hasControls(form) || takesFile(form))) return form;
    const filled = form
      .replace(/<input\b[^>]*>/g, (tag) => fillInput(tag, valueOf(tag)))
      .replace(/(<textarea\b[^>]*>)[^]*?<\/textarea>/g, (all, tag: string) =>
        // an empty control sends nothing; the first line break after the tag does not count (HTML 13.1.2.5)
        isSecret(attribute(tag, 'name') ?? '') ? all : `${tag}\n${escape(valueOf(tag) ?? '')}</textarea>`,
      )
      .replace(/(<select\b[^>]*>)([^]*?)<\/select>/g, (all, tag: string, options: string) => {
        const value = valueOf(tag);
        if (value === undefined) return all;
        const chosen = options.replace(/<option\b[^>]*>/g, (option) =>
          choose(option, 'selected', attribute(option, 'value') === value),
        );
        return `${tag}${chosen}</select>`;
      });
    return withNotice(filled, notice(form));
  });
}

/** Lets the form of an address send on secrets that are kept, and says so in their controls. @param field names what is kept */
export function keepSecrets(
  html: string,
  kept: { action: string; names: readonly string[]; field: { name: string; value: string }; word: string },
): string {
  const { action, names, field, word } = kept;
  if (names.length === 0) return html;
  return mapForms(html, (form, its) => {
    if (its !== action) return form;
    const marked = form.replace(/<(?:input|textarea)\b[^>]*>/g, (tag) =>
      names.includes(attribute(tag, 'name') ?? '')
        ? withAttribute(without(tag, 'required', 'placeholder'), `placeholder="${escape(word)}"`)
        : tag,
    );
    return atStart(marked, `<input type="hidden" name="${field.name}" value="${escape(field.value)}">`);
  });
}

function fillInput(tag: string, value: string | undefined): string {
  const type = attribute(tag, 'type') ?? 'text';
  if (attribute(tag, 'name') === undefined || ['hidden', 'submit', 'button', 'file', 'password'].includes(type))
    return tag;
  if (type === 'checkbox') return choose(tag, 'checked', value === (attribute(tag, 'value') ?? 'on'));
  if (type === 'radio') return value === undefined ? tag : choose(tag, 'checked', attribute(tag, 'value') === value);
  return withAttribute(without(tag, 'value'), `value="${escape(value ?? '')}"`);
}

const atStart = (form: string, text: string): string => form.replace(/^<form[^>]*>/, (tag) => `${tag}\n${text}`);

const attribute = (tag: string, name: string): string | undefined =>
  unescape(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]);

const without = (tag: string, ...names: string[]): string =>
  names.reduce((rest, name) => rest.replace(new RegExp(`\\s${name}(?:="[^"]*")?(?=[\\s>])`), ''), tag);

// a value may contain what a replacement would interpret
const withAttribute = (tag: string, text: string): string => `${tag.slice(0, -1)} ${text}>`;

const choose = (tag: string, word: 'checked' | 'selected', is: boolean): string =>
  is ? withAttribute(without(tag, word), word) : without(tag, word);

function unescape(text: string | undefined): string | undefined {
  return text
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
