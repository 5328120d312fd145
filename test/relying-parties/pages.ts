// Renders the pages of the parties that are libraries: the signed-in user, and links to new tokens and sign-out.
export interface Visitor {
  name: string;
  sub: string;
  email: string;
  accessToken: string;
}

export const page = (body: string) =>
  `<!doctype html><html lang="en"><title>Party</title><link rel="icon" href="/logo.svg">${body}</html>`;

export const signedOutPage = page('<h1>You’re signed out</h1>');

export function homePage(visitor: Visitor, options: { refreshes: boolean }): string {
  return page(`
    <h1>Signed in as ${escape(visitor.name)}</h1>
    <dl>
      <dt>Subject</dt><dd id="sub">${escape(visitor.sub)}</dd>
      <dt>Email</dt><dd id="email">${escape(visitor.email)}</dd>
      <dt>Access token</dt><dd id="access-token">${escape(visitor.accessToken)}</dd>
    </dl>
    ${options.refreshes ? '<form method="post" action="/refresh"><button>Refresh</button></form>' : ''}
    <form method="post" action="/sign-out"><button>Sign out</button></form>`);
}

export const escape = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
