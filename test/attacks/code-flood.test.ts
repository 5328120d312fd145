// Attacks the service with requests for too many codes, under its default limits.
import { afterAll, beforeAll, expect } from 'vitest';
import { redeem } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { isSignedIn } from '../spec/kit.ts';
import { attack } from './attack.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
});
afterAll(() => service?.stop());

attack(
  {
    id: 'A40',
    name: 'Code flood',
    request:
      'Two hundred authorization requests within a minute from one session whose consent is remembered, on two instances, and none of the codes redeemed',
    answer:
      'Twenty codes, of which the newest five are valid, then a page with 429 and Retry-After; other sessions get their codes',
    source: 'CVE-2026-79651',
    requirements: ['R19', 'R105'],
  },
  async () => {
    const [user, rp] = [await service.createUser(), await service.createClient()];
    const [browser, other] = [new UserAgent(service), new UserAgent(service)];
    await other.authorize(rp, user);
    await browser.signIn(user);
    const pages: Page[] = [];
    for (let batch = 0; batch < 20; batch++) {
      const requests = Array.from({ length: 10 }, (_, index) =>
        browser.get(authorizationUrl(service.instances[index % 2]!, rp)),
      );
      pages.push(...(await Promise.all(requests)));
    }
    const codes = pages.flatMap((page) => (page.status === 302 ? [responseParameters(page)['code']!] : []));
    expect(codes).toHaveLength(20);
    for (const page of pages.filter(({ status }) => status !== 302)) {
      expect([page.status, page.location]).toEqual([429, undefined]);
      expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(responseParameters(await other.get(authorizationUrl(service.issuer, rp)))).toHaveProperty('code');
    const redeemed = [];
    for (const code of codes) redeemed.push((await redeem(service.issuer, rp, code)).status);
    // the requests were sent ten at once: five of the last ten codes are valid
    expect(redeemed.slice(0, 10)).toEqual(Array(10).fill(400));
    expect(redeemed.filter((status) => status === 200)).toHaveLength(5);
    expect(await isSignedIn(browser, service.issuer)).toBe(true);
  },
);
