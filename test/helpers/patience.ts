// Lets every wait of a test last as long as the test itself may, and the services of tests wait longer for their database: a busy machine makes nothing
// wrong, and the limit of the test ends it. A test of the deadline itself sets it back.
import { vi } from 'vitest';
import { databaseLimits } from '../../src/database/deadline.ts';

const patience = 600_000; // milliseconds
type Wait = typeof vi.waitUntil;
type Patient<F> = F & { patient?: true };

/** @param wait a function that by itself gives up after a second */
function patient<F extends Wait>(wait: Patient<F>): F {
  // test files share one process, and each runs this
  if (wait.patient) return wait;
  const waits = ((callback: Parameters<F>[0], options: Parameters<F>[1]) =>
    wait(callback as never, {
      ...(typeof options === 'object' && options),
      timeout: patience,
    })) as Patient<F>;
  waits.patient = true;
  return waits;
}

vi.waitUntil = patient(vi.waitUntil);
vi.waitFor = patient(vi.waitFor as unknown as Wait) as unknown as typeof vi.waitFor;

databaseLimits.deadline = 30_000;
