// Renders the sample applications' pages: plain HTML, complete without script, everything escaped. The frame, and the relying party's
// pages.

export interface TokenSet {
  accessToken: string;
  expiresAt: Date | undefined;
  refreshToken?: string;
  idToken?: string;
}

export interface SignedIn {
  /** Claims of the verified ID Token. */
  idToken: { sub: string } & Record<string, unknown>;
  userInfo: Record<string, unknown>;
  tokens: TokenSet;
  /** The tokens before the last refresh. */
  before?: TokenSet;
}

export interface Home {
  issuer: string;
  signedIn: SignedIn | undefined;
  notice: 'signed-out' | 'refreshed' | 'denied' | undefined;
}

export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | Part[] | undefined | false;

/** Markup; inserted values are escaped unless they are markup themselves. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((text, index) => text + show(parts[index])).join(''));
}

function show(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(show).join('');
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const notices: Record<NonNullable<Home['notice']>, [string, string]> = {
  'signed-out': ['You’re signed out', 'Harbour no longer knows who you are.'],
  refreshed: ['The tokens are new', 'The table below shows the tokens before and after the refresh.'],
  denied: ['You are not signed in', 'You did not allow Harbour to use your account. Harbour got no data about you.'],
};

export function homePage({ issuer, signedIn, notice }: Home): string {
  const said =
    notice &&
    html`<div class="notice" role="status">
      <h2>${notices[notice][0]}</h2>
      <p>${notices[notice][1]}</p>
    </div>`;
  if (!signedIn) {
    return frame(
      { application: 'Harbour', title: notice === 'signed-out' ? 'Signed out' : 'Welcome' },
      html`<div class="card">
        ${said}
        <h1>Welcome to Harbour</h1>
        <p class="lead">
          A sample application. It knows nothing about you until you sign in with <bdi>${new URL(issuer).host}</bdi>.
        </p>
        <form method="post" action="/sign-in"><button class="button primary">Sign in</button></form>
      </div>`,
    );
  }
  const { idToken, userInfo, tokens, before } = signedIn;
  const name = userInfo['name'] ?? userInfo['preferred_username'] ?? idToken['sub'];
  return frame(
    { application: 'Harbour', title: 'Signed in', wide: true },
    html`<div class="card">
        ${said}
        <div class="head">
          <div>
            <h1>Signed in as <bdi>${text(name)}</bdi></h1>
            <p class="lead">Below are all data that Harbour got from <bdi>${new URL(issuer).host}</bdi>.</p>
          </div>
          <form method="post" action="/sign-out"><button class="button">Sign out</button></form>
        </div>
      </div>
      <section class="card" aria-labelledby="tokens">
        <div class="head">
          <h2 id="tokens">Tokens</h2>
          <form method="post" action="/refresh"><button class="button primary">Refresh the tokens</button></form>
        </div>
        ${tokenTable(tokens, before)}
      </section>
      <section class="card" aria-labelledby="id-token">
        <h2 id="id-token">ID Token</h2>
        <p class="quiet">Signature, issuer, audience, time and nonce are verified.</p>
        ${claimTable(idToken)}
      </section>
      <section class="card" aria-labelledby="user-info">
        <h2 id="user-info">UserInfo</h2>
        ${claimTable(userInfo)}
      </section>`,
  );
}

export function problemPage(application: string, sentence: string): string {
  return frame(
    { application, title: 'Something went wrong' },
    html`<div class="card">
      <h1>Something went wrong</h1>
      <p>${sentence}</p>
      <p><a href="/">Back to ${application}</a></p>
    </div>`,
  );
}

export function claimTable(claims: Record<string, unknown>): Html {
  return html`<table class="claims">
    <thead>
      <tr>
        <th scope="col">Claim</th>
        <th scope="col">Value</th>
      </tr>
    </thead>
    <tbody>
      ${inOrder(claims).map(
        ([claim, value]) =>
          html`<tr>
            <th scope="row">${claim}</th>
            <td>${claimValue(claim, value)}</td>
          </tr> `,
      )}
    </tbody>
  </table>`;
}

const first = ['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'azp', 'sid', 'at_hash'];

/** Claims about the token come first, then claims about the user. */
function inOrder(claims: Record<string, unknown>): [string, unknown][] {
  const rank = (claim: string) => (first.includes(claim) ? first.indexOf(claim) : first.length);
  return Object.entries(claims).sort(([a], [b]) => rank(a) - rank(b));
}

const times = ['iat', 'exp', 'auth_time', 'updated_at'];

function claimValue(claim: string, value: unknown): Html {
  if (times.includes(claim) && typeof value === 'number') {
    return html`${time(new Date(value * 1000))} <span class="quiet">${value}</span>`;
  }
  if (Array.isArray(value)) return html`${value.map(text).join(', ')}`;
  if (typeof value === 'object' && value !== null) {
    return html`<dl>
      ${Object.entries(value).map(
        ([key, member]) =>
          html`<div>
            <dt>${key}</dt>
            <dd>${text(member)}</dd>
          </div>`,
      )}
    </dl>`;
  }
  return html`${text(value)}`;
}

function tokenTable(tokens: TokenSet, before: TokenSet | undefined): Html {
  const row = (title: string, value: (set: TokenSet) => Html) =>
    html`<tr>
      <th scope="row">${title}</th>
      ${before && html`<td data-title="Before">${value(before)}</td>`}
      <td data-title="Now">${value(tokens)}</td>
    </tr> `;
  return html`<table class="tokens">
    <thead>
      <tr>
        <th scope="col">Token</th>
        ${before && html`<th scope="col">Before</th>`}
        <th scope="col">${before ? 'Now' : 'Shortened'}</th>
      </tr>
    </thead>
    <tbody>
      ${row('Access token', (set) => start(set.accessToken))}${row('It expires', (set) => (set.expiresAt ? time(set.expiresAt) : html`not said`))}${row('Refresh token', (set) => start(set.refreshToken))}${row('ID Token', (set) => end(set.idToken))}
    </tbody>
  </table>`;
}

/** Enough of a token to distinguish it from another, and too little to use it. */
function start(token: string | undefined): Html {
  return token === undefined ? html`none` : html`<code>${token.slice(0, 12)}…</code>`;
}

/** ID Tokens all begin alike: the end belongs to the signature. */
function end(token: string | undefined): Html {
  return token === undefined ? html`none` : html`<code>…${token.slice(-8)}</code>`;
}

function time(at: Date): Html {
  const iso = at.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

export interface Frame {
  /** The application's name. */
  application: string;
  title: string;
  wide?: boolean;
  /** The colour scheme that the user chose; the browser's unless set. */
  theme?: 'light' | 'dark' | undefined;
}

export function frame({ application, title, wide = false, theme }: Frame, body: Html): string {
  return html`<!doctype html>
    <html lang="en" ${theme && html`data-theme="${theme}"`}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="${theme ?? 'light dark'}" />
        <title>${title} - ${application}</title>
        <link rel="stylesheet" href="/style.css" />
        <link rel="icon" href="/logo.svg" />
      </head>
      <body>
        <div class="page${wide && ' wide'}">
          <header class="brand">
            <img src="/logo.svg" alt="" width="30" height="30" /><span>${application}</span>
          </header>
          <main>${body}</main>
        </div>
      </body>
    </html> `.text;
}
