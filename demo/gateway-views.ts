// Renders the pages of the sample application whose gateway exchanges tokens.
import type { JWTPayload } from 'jose';
import { claimTable, frame, type Html, html } from './views.ts';

/** The access token that a party presents, and what the API that it calls answers. */
export interface Call {
  token: JWTPayload;
  status: number;
  /** The answer, or what is wrong with the token. */
  said: string;
}

/** The user who is signed in. */
export interface BerthVisitor {
  name: string;
  /** The last call, and the call that the gateway made for it. */
  calls?: Call[];
}

const application = 'Berth Finder';

export function berthPage({ issuer, visitor }: { issuer: string; visitor: BerthVisitor | undefined }): string {
  if (!visitor) {
    return frame(
      { application, title: 'Welcome' },
      html`<div class="card">
        <h1>Welcome to ${application}</h1>
        <p class="lead">
          A sample application. It asks a gateway where your boat lies, and the gateway asks the API of the berths. Sign
          in with <bdi>${new URL(issuer).host}</bdi> first.
        </p>
        <form method="post" action="/sign-in"><button class="button primary">Sign in</button></form>
      </div>`,
    );
  }
  const { calls } = visitor;
  return frame(
    { application, title: 'Signed in', wide: calls !== undefined },
    html`<div class="card">
        ${calls && answerOf(calls)}
        <h1>Good morning, <bdi>${visitor.name}</bdi></h1>
        <p class="lead">
          The token of ${application} is for the gateway only. For the API of the berths, the gateway exchanges it.
        </p>
        <form method="post" action="/ask-gateway"><button class="button primary">Where does my boat lie?</button></form>
        <form method="post" action="/ask-berths">
          <button class="button">Send the token to the berths, past the gateway</button>
        </form>
        <form method="post" action="/sign-out"><button class="button">Sign out</button></form>
      </div>
      ${calls?.map(callCard)}`,
  );
}

function answerOf(calls: Call[]): Html {
  const { status, said } = calls[0]!;
  return html`<div class="notice" role="status">
    <h2>${status === 200 ? said : `The answer was ${status}`}</h2>
    <p>${status === 200 ? 'The gateway exchanged the token. Below are the tokens of both calls.' : said}</p>
  </div>`;
}

function callCard({ token }: Call, index: number): Html {
  const id = `call-${index}`;
  const title = index === 0 ? `The token of ${application}` : 'The token that the gateway got in exchange';
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${claimTable(token)}
  </section>`;
}
