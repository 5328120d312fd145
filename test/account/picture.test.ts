// Users upload a picture of themselves; it is the claim `picture`, and goes with the account.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call, obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { jpeg, notImages, png, pngOfEdge, segmentOfJpeg, webp } from '../helpers/images.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { loadImage, upload } from '../helpers/upload.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const path = '/account/profile/picture';
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits, instances: 2, basePath: '/id' });
});
afterAll(() => service?.stop());

async function signedIn(claims: Record<string, unknown> = {}): Promise<{ agent: UserAgent; user: TestUser }> {
  const user = await service.createUser({ claims });
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return { agent, user };
}
const pictureOf = async ({ sub }: TestUser) => (await service.store.users.find(sub))!.claims['picture'] as string;
const imagesOf = ({ sub }: TestUser) => service.database.sql('SELECT key FROM images WHERE sub = $1', [sub]);

test('a picture is uploaded, is the claim, is served at an address that cannot be guessed, and is shown (pages, a picture of oneself)', async () => {
  const { agent, user } = await signedIn({ name: 'Ada Lovelace' });
  expect((await agent.get('/account')).body).toMatch(/<span class="face tile-\d+" aria-hidden="true">AL<\/span>/);
  expect((await agent.get('/account/profile')).body).toContain(`href="/id${path}"`);
  const withPlace = Buffer.concat([
    jpeg.subarray(0, 2),
    segmentOfJpeg(0xe1, Buffer.from('Exif\0\0 at 48.8584N')),
    jpeg.subarray(2),
  ]);
  const sent = await upload(agent, path, { file: withPlace, name: 'me.jpg' });
  expect(sent.location).toBe(`${service.issuer}/account/profile?done=picture-saved`);
  const address = await pictureOf(user);
  expect(address).toMatch(/^https?:\/\/[^/]+\/id\/assets\/images\/[A-Za-z0-9_-]{22}\.jpeg$/);
  for (const base of service.instances) {
    const image = await loadImage(address.replace(service.issuer, base));
    expect(image).toMatchObject({ status: 200, body: jpeg });
    expect(Object.fromEntries(image.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': `default-src 'none'; sandbox`,
    });
    expect(image.headers.get('set-cookie')).toBeNull();
  }
  const home = await agent.get('/account');
  expect(home.body).toContain(`<img src="${new URL(address).pathname}" alt=""`);
  // nothing more is loaded from anywhere than before
  expect(home.headers.get('content-security-policy')).toContain(`img-src 'self' data:;`);
  const client = await service.createClient({ scope: 'openid profile' });
  const tokens = await obtainTokens(service, client, user, { scope: 'openid profile' });
  expect((await userinfo(service.issuer, tokens.access_token)).body['picture']).toBe(address);
  const [event] = await service.database.sql(
    `SELECT actor, detail FROM audit_events WHERE sub = $1 AND type = 'user.changed'`,
    [user.sub],
  );
  expect(event).toMatchObject({ actor: user.sub, detail: { members: ['picture'] } });
});

test('another picture replaces the first one, and Remove removes it: the old address shows nothing (pages, a picture of oneself)', async () => {
  const { agent, user } = await signedIn();
  await upload(agent, path, { file: png });
  const first = await pictureOf(user);
  await upload(agent, path, { file: webp });
  const second = await pictureOf(user);
  expect(second).not.toBe(first);
  expect((await loadImage(first)).status).toBe(404);
  expect(await loadImage(second)).toMatchObject({ status: 200, body: webp });
  // its type is part of the address
  expect((await loadImage(second.replace('.webp', '.png'))).status).toBe(404);
  expect((await agent.get(path)).body).toContain('value="remove"');
  const removed = await upload(agent, path, { fields: { act: 'remove' } });
  expect(removed.location).toContain('done=picture-removed');
  expect(await pictureOf(user)).toBeUndefined();
  expect((await loadImage(second)).status).toBe(404);
  expect(await imagesOf(user)).toEqual([]);
});

test('a picture elsewhere stays possible, and ends the uploaded one, whoever sets it (pages, a picture of oneself)', async () => {
  const { agent, user } = await signedIn();
  const token = await adminToken(service);
  const elsewhere = 'https://face.example/ada.png';
  const set = (picture: string | null) =>
    call(`${service.issuer}/admin/api/users/${user.sub}`, { method: 'PATCH', token, body: { claims: { picture } } });
  await upload(agent, path, { file: png });
  await set(elsewhere);
  expect(await pictureOf(user)).toBe(elsewhere);
  expect(await imagesOf(user)).toEqual([]);
  // no page loads it
  expect((await agent.get('/account')).body).not.toContain('face.example');
  await upload(agent, path, { file: png });
  expect(await imagesOf(user)).toHaveLength(1);
  await service.database.sql(`UPDATE users SET claims = claims || '{"nickname": "Ada"}' WHERE sub = $1`, [user.sub]);
  expect(await imagesOf(user)).toHaveLength(1);
  await service.database.sql(`UPDATE users SET claims = claims - 'picture' WHERE sub = $1`, [user.sub]);
  expect(await imagesOf(user)).toEqual([]);
});

test('the picture is in the download of all data, and goes with the account (decisions section 8)', async () => {
  const { agent, user } = await signedIn();
  await upload(agent, path, { file: png });
  const data = await agent.get('/account/data');
  const all = await agent.submit(data, {});
  expect((JSON.parse(all.body) as Record<string, unknown>)['picture']).toEqual({
    type: 'image/png',
    content: png.toString('base64'),
  });
  const address = await pictureOf(user);
  await call(`${service.issuer}/admin/api/users/${user.sub}`, { method: 'DELETE', token: await adminToken(service) });
  expect((await loadImage(address)).status).toBe(404);
  expect(await imagesOf(user)).toEqual([]);
});

const large = Buffer.alloc(3 * 1024 * 1024, 1);
test.each<[string, Buffer | undefined, string]>([
  ['no file', undefined, 'Choose a file first.'],
  ['a file of 3 MiB', large, 'This image is larger than 1 MB.'],
  ['20,000 x 20,000 pixels', pngOfEdge(20_000, 20_000), 'more than 4096 × 4096 pixels'],
  ['an SVG named .png', notImages['an SVG']!, 'isn’t a PNG, JPEG or WebP image'],
  ['a page named .png', notImages['an HTML page']!, 'isn’t a PNG, JPEG or WebP image'],
  ['a polyglot', notImages['a PNG with a page after it']!, 'is damaged'],
])('%s is refused in a sentence at the field (federation F110)', async (_what, file, sentence) => {
  const { agent, user } = await signedIn();
  const page = await upload(agent, path, { ...(file && { file }), name: 'me.png' });
  expect(page.status).toBe(400);
  expect(page.body).toContain(sentence);
  expect(page.body).toMatch(/<p class="fault" id="image-fault">/);
  expect(await imagesOf(user)).toEqual([]);
});

test('without a session, without the form’s token, with more than a file, and at other addresses nothing is taken (security R55, R106)', async () => {
  const { agent, user } = await signedIn();
  const stranger = new UserAgent(service);
  expect((await upload(stranger, path, { file: png, fields: { csrf: 'x' } })).location).toBe(`${service.issuer}/login`);
  expect((await upload(agent, path, { file: png, fields: { csrf: 'x' } })).status).toBe(400);
  const { agent: other } = await signedIn();
  const theirs = /name="csrf" value="([^"]*)"/.exec((await other.get(path)).body)![1]!;
  expect((await upload(agent, path, { file: png, fields: { csrf: theirs } })).status).toBe(400);
  const csrf = /name="csrf" value="([^"]*)"/.exec((await agent.get(path)).body)![1]!;
  const form = new FormData();
  form.set('csrf', csrf);
  for (const name of ['a', 'b']) form.append('image', new Blob([new Uint8Array(png)]), `${name}.png`);
  const headers = { origin: new URL(service.issuer).origin, 'sec-fetch-site': 'same-origin' };
  expect((await agent.fetch(path, { method: 'POST', body: form, headers })).status).toBe(400);
  const broken = { ...headers, 'content-type': 'multipart/form-data; boundary=x' };
  for (const body of [
    '',
    '--x',
    '--x\r\n\r\n',
    '--y\r\n',
    `--x\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n${csrf}`,
  ])
    expect((await agent.fetch(path, { method: 'POST', body, headers: broken })).status, body).toBe(400);
  const page = await agent.get('/account/profile/edit');
  const profile = new FormData();
  profile.set('csrf', /name="csrf" value="([^"]*)"/.exec(page.body)![1]!);
  expect((await agent.fetch('/account/profile/edit', { method: 'POST', body: profile, headers })).status).toBe(415);
  expect(await imagesOf(user)).toEqual([]);
});

test('with PROFILE_PICTURES=off users upload none, and the profile has no link (pages, a picture of oneself)', async () => {
  const closed = await startTestService({ environment: { PROFILE_PICTURES: 'off' } });
  try {
    const agent = new UserAgent(closed);
    await agent.signIn(await closed.createUser());
    expect((await agent.get('/account/profile')).body).not.toContain(path);
    expect((await agent.get(path)).status).toBe(404);
  } finally {
    await closed.stop();
  }
});

test('an unknown name, and one of another form, costs no more than a 404 (pages, a picture of oneself)', async () => {
  for (const name of [
    'AAAAAAAAAAAAAAAAAAAAAA.png',
    'a.png',
    '..%2f..%2flogout',
    '%00.png',
    'AAAAAAAAAAAAAAAAAAAAAA.svg',
  ])
    expect((await loadImage(`${service.issuer}/assets/images/${name}`)).status, name).toBeGreaterThanOrEqual(400);
});
