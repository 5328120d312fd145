// Declares what pages show that connect an application to its client.

/** A program or a configuration for the new client: a file in templates/snippets, and the values that it contains. */
export interface SnippetView {
  name: string;
  /** The library or the program, the same in every language. */
  title: string;
  values: SnippetValues;
}

export interface SnippetValues {
  issuer: string;
  clientId: string;
  redirectUri: string | undefined;
  postLogoutRedirectUri: string | undefined;
  scope: string;
  /** The URI of the first resource of the client. */
  resource: string | undefined;
  /** The hosts of a protected site. */
  hosts: readonly string[];
  /** Whether the client may introspect the tokens of others. */
  introspects: boolean;
}
