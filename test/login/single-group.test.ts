// Tests the groups of an answer that has a text in place of a list, as ADFS sends a single group.
import { expect, test } from 'vitest';
import { addConnection, signInBy } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startProvider } from '../helpers/provider.ts';
import { startTestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

test('a single group as a text is one group, and an empty text says nothing of groups (federation FR15, reports C7)', async () => {
  const provider = await startProvider();
  const service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host } });
  await addConnection(service, provider, 'adfs', { provisioning: 'on', group_rules: [{ all: true, prefix: 'ad-' }] });
  const groupsWith = async (groups: unknown) => {
    provider.be({ sub: 'single', preferred_username: 'single', groups });
    await signInBy(new UserAgent(service), 'adfs');
    return (await service.store.users.findByLogin('single'))!.groups;
  };
  expect(await groupsWith('Sales')).toEqual(['ad-Sales']);
  expect(await groupsWith('')).toEqual(['ad-Sales']);
  expect(await groupsWith(['Support'])).toEqual(['ad-Support']);
  expect(await groupsWith([])).toEqual([]);
  await service.stop();
  await provider.stop();
});
