// Holds the provisioning of targets at which many accounts would end at once, with an event: an administrator decides (federation 8, FR16).
import type { Repositories } from '../../repositories/store.ts';

/** In a transaction. @returns the targets that are held from now on */
export async function holdMassChanges({
  provisioningTargets,
  auditEvents,
}: Repositories): Promise<{ targetId: string; leaving: number }[]> {
  const held = await provisioningTargets.holdMass();
  for (const { targetId, leaving } of held)
    await auditEvents.insert({
      type: 'provisioning_target.held',
      outcome: 'success',
      actor: 'service',
      detail: { provisioning_target: targetId, leaving },
    });
  return held;
}
