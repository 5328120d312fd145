// Attacks the connections of the database: terminates back ends under load.
import { expect } from 'vitest';
import { Bed } from '../faults/bed.ts';
import { scenarios } from '../faults/scenarios.ts';
import { attack } from './attack.ts';

attack(
  {
    id: 'A125',
    name: 'Killed back-ends and recovery',
    request: 'pg_terminate_backend in a loop on the connections of the service under load, which then stops.',
    answer:
      'The process survives, no more requests fail than connections were terminated, and every token in an answer is stored',
    source: 'keycloak#46995, ory/hydra#1471',
    requirements: ['R109', 'R110'],
  },
  async () => {
    const bed = await Bed.open({ processes: 1 });
    try {
      await scenarios.terminate.run(bed, scenarios.terminate.short);
      bed.takeTimes();
      // the database refuses connections for a while, and then the same processes answer as before
      expect(bed.load.requests.counts.unavailable).toBeGreaterThan(0);
      expect(bed.services[0]!.stderr).not.toContain('"status":500');
      expect((await fetch(`${bed.load.requests.issuer}/health/ready`)).status).toBe(200);
      expect(bed.violations).toEqual([]);
    } finally {
      await bed.close();
    }
  },
);
