// Walks an administrator in a real browser through a rule for claims: its kind, its fields, the line, a change and the removal.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { openWalk, walkersBy } from '../helpers/walk.ts';

const willRun = process.env.CHROMIUM !== undefined;
let browser: Browser | undefined;
let service: TestService;
beforeAll(async () => {
  if (!willRun) return;
  browser = await launchBrowser();
  service = await startTestService({ environment: withoutLimits });
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

describe.each([...walkersBy('desktop'), ...walkersBy('telephone')])(
  'in $locale at $width pixels, $script',
  (walker) => {
    browserTest(
      'an administrator adds a rule by its kind and the fields of the kind, changes it and removes it, by keyboard alone (pages, forms)',
      async () => {
        const admin = await service.createUser({ admin: true });
        const { clientId } = await service.createClient({ client_name: 'Grafana' });
        const office = await openWalk(browser!, 'rules', walker);
        const { page } = office;
        await page.goto(`${service.issuer}/admin/clients/${clientId}/claims`);
        await office.type('#username', admin.username);
        await office.type('#password', admin.password);
        await office.follow('#sign-in');
        await office.checked('none');
        await office.follow('#claim_rules a.button');
        await office.checked('kinds');
        await office.goTo('input[name="kind"]');
        await page.keyboard.press('Space');
        if (walker.javaScriptEnabled) {
          // what was typed stays with another kind
          await office.type('#claim', 'grafana_role');
          await page.locator('input[value="constant"]').check();
          expect(await page.locator('#value').count()).toBe(1);
          expect(await page.locator('#claim').inputValue()).toBe('grafana_role');
          await page.locator('input[value="groups"]').check();
          expect(await page.locator('#value').count()).toBe(0);
          expect(await page.locator('#into input, input[name="into.0"]').first().isChecked()).toBe(true);
        } else {
          await office.follow('#next');
          await office.type('#claim', 'grafana_role');
        }
        await office.type('#prefix', 'grafana-');
        await office.checked('form');
        await office.follow('#save');
        await page.locator('#claim_rules .rule').waitFor();
        expect(await page.locator('#claim_rules .rule bdi').allTextContents()).toEqual(['grafana_role', 'grafana-']);
        await office.checked('line');
        await office.follow('#claim_rules .acts a');
        await office.type('#prefix', 'team-');
        await office.follow('#save');
        expect(await page.locator('#claim_rules .rule bdi').allTextContents()).toEqual([
          'grafana_role',
          expect.stringContaining('team-') as string,
        ]);
        await office.follow('#claim_rules button[name=remove]');
        expect(await page.locator('#claim_rules .rule').count()).toBe(0);
        expect(office.complaints).toEqual([]);
        await office.context.close();
      },
    );
  },
);
