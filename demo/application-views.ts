// Renders the sample application server's pages: before sign-in, with access, and without access.
import { frame, html } from './views.ts';

/** The application's name. */
export const clientName = 'Berths';

export const themes = ['light', 'dark'] as const;
export type Theme = (typeof themes)[number];
export type Notice = 'signed-out' | 'denied' | 'ended' | 'kept';

const notices: Record<Notice, [string, string]> = {
  'signed-out': ['You’re signed out', 'Berths no longer knows who you are. Other applications still do.'],
  denied: ['You are not signed in', 'You did not allow Berths to use your account. Berths got no data about you.'],
  ended: ['Your session has ended', 'Sign in again to continue.'],
  kept: ['Your settings are stored', 'Berths uses them again when you next sign in.'],
};

const said = (notice: Notice | undefined) =>
  notice &&
  html`<div class="notice" role="status">
    <h2>${notices[notice][0]}</h2>
    <p>${notices[notice][1]}</p>
  </div>`;

const signOut = html`<form method="post" action="/sign-out"><button class="button">Sign out</button></form>`;

export function welcomePage(page: { issuer: string; group: string; notice: Notice | undefined }): string {
  const { issuer, group, notice } = page;
  return frame(
    { application: clientName, title: notice === 'signed-out' ? 'Signed out' : 'Welcome' },
    html`<div class="card">
      ${said(notice)}
      <h1>Welcome to ${clientName}</h1>
      <p class="lead">
        A sample application server. It lets in whom <bdi>${new URL(issuer).host}</bdi> knows as a member of the group
        <bdi>${group}</bdi>.
      </p>
      <form method="post" action="/sign-in"><button class="button primary">Sign in</button></form>
    </div>`,
  );
}

export function insidePage(page: {
  username: string;
  group: string;
  groups: string[];
  theme: Theme | undefined;
  notice: Notice | undefined;
}): string {
  const { username, group, groups, theme, notice } = page;
  const choice = (value: string, label: string, checked: boolean) =>
    html`<label><input type="radio" name="theme" value="${value}" ${checked && 'checked'} /> ${label}</label> `;
  return frame(
    { application: clientName, title: 'Settings', wide: true, theme },
    html`<div class="card">
        ${said(notice)}
        <div class="head">
          <div>
            <h1>Welcome, <bdi>${username}</bdi></h1>
            <p class="lead">You are in the group <bdi>${group}</bdi>.</p>
          </div>
          ${signOut}
        </div>
      </div>
      <section class="card" aria-labelledby="groups">
        <h2 id="groups">Your groups</h2>
        <p>${groups.join(', ')}</p>
      </section>
      <section class="card" aria-labelledby="settings">
        <h2 id="settings">Your settings</h2>
        <p class="quiet">Kept at the provider, for you and this application only.</p>
        <form class="stack" method="post" action="/settings">
          <fieldset>
            <legend>Theme</legend>
            ${choice('', 'As the browser prefers', theme === undefined)}${choice('light', 'Light', theme === 'light')}${choice('dark', 'Dark', theme === 'dark')}
          </fieldset>
          <button class="button primary">Keep</button>
        </form>
      </section>`,
  );
}

export function deniedPage(page: { username: string; group: string; accessDenied: string }): string {
  const { username, group, accessDenied } = page;
  return frame(
    { application: clientName, title: 'No access' },
    html`<div class="card">
      <h1>You have no access, <bdi>${username}</bdi></h1>
      <p>Only members of the group <bdi>${group}</bdi> may use ${clientName}.</p>
      <p><a href="${accessDenied}">What you can do</a></p>
      ${signOut}
    </div>`,
  );
}
