// Sends forms with a file as a browser does, and loads images.
import { formOf } from './console.ts';
import type { Page, UserAgent } from './user-agent.ts';

interface Upload {
  file?: Buffer;
  /** The name of the file. */
  name?: string;
  /** Instead of those of the page, which is then not opened. */
  fields?: Record<string, string>;
}

/** Opens the page and sends its form. */
export async function upload(
  agent: UserAgent,
  path: string,
  { file, name = 'x.png', fields = {} }: Upload,
): Promise<Page> {
  const hidden = fields['csrf'] === undefined ? formOf(await agent.get(path), path) : {};
  const form = new FormData();
  for (const [field, value] of Object.entries({ ...hidden, act: 'save', ...fields })) form.set(field, value);
  // a browser sends an empty file where none is chosen
  form.set('image', new Blob([new Uint8Array(file ?? Buffer.alloc(0))], { type: 'image/png' }), file ? name : '');
  return agent.fetch(path, {
    method: 'POST',
    body: form,
    headers: { origin: new URL(agent.issuer).origin, 'sec-fetch-site': 'same-origin' },
  });
}

export async function loadImage(address: string): Promise<{ status: number; headers: Headers; body: Buffer }> {
  const response = await fetch(address);
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}
