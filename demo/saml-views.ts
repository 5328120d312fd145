// Renders the sample SAML application's pages: before and after the sign-in.
import { frame, html } from './views.ts';

/** The user who is signed in, as the assertion says. */
export interface Member {
  nameId: string;
  attributes: Record<string, string[]>;
}

export type SamlNotice = 'signed-out' | 'denied';

export const application = 'Harbour Library';

const notices: Record<SamlNotice, [string, string]> = {
  'signed-out': [
    'You’re signed out',
    `${application} no longer knows who you are, and your session at the service has ended.`,
  ],
  denied: ['You are not signed in', `The service sent no assertion. ${application} got no data about you.`],
};

export function libraryPage(page: {
  issuer: string;
  member: Member | undefined;
  notice: SamlNotice | undefined;
}): string {
  const { issuer, member, notice } = page;
  const said =
    notice &&
    html`<div class="notice" role="status">
      <h2>${notices[notice][0]}</h2>
      <p>${notices[notice][1]}</p>
    </div>`;
  if (!member) {
    return frame(
      { application, title: notice === 'signed-out' ? 'Signed out' : 'Welcome' },
      html`<div class="card">
        ${said}
        <h1>Welcome to ${application}</h1>
        <p class="lead">
          A sample application that speaks SAML&nbsp;2.0. Its users sign in with <bdi>${new URL(issuer).host}</bdi>.
        </p>
        <form method="post" action="/sign-in"><button class="button primary">Sign in</button></form>
      </div>`,
    );
  }
  const { displayName: [name] = [member.nameId] } = member.attributes;
  return frame(
    { application, title: 'Signed in', wide: true },
    html`<div class="card">
        <div class="head">
          <div>
            <h1>Signed in as <bdi>${name}</bdi></h1>
            <p class="lead">Below is all that the signed assertion says about you.</p>
          </div>
          <form method="post" action="/sign-out"><button class="button">Sign out</button></form>
        </div>
      </div>
      <section class="card" aria-labelledby="assertion">
        <h2 id="assertion">Assertion</h2>
        <p class="quiet">Signature, issuer, audience, time and request are verified.</p>
        <table class="claims">
          <thead>
            <tr>
              <th scope="col">Attribute</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">NameID</th>
              <td>${member.nameId}</td>
            </tr>
            ${Object.entries(member.attributes).map(
              ([attribute, values]) =>
                html`<tr>
                  <th scope="row">${attribute}</th>
                  <td>${values.join(', ')}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </section>`,
  );
}
