// Defines the error of a template or a message catalogue that is broken.

/** Its message is one sentence that names the innermost file, so that the templates around it add nothing. */
export class TemplateError extends Error {}
