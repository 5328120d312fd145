// Declares the answers of the operations on provisioning targets.
import { z } from 'zod';
import { answerOf } from '../../entities/entity.ts';
import { provisioningTargets } from '../../entities/provisioning-targets.ts';
import {
  accountStates,
  provisioningActs,
  provisioningProblems,
} from '../../repositories/provisioning/provisioned-users.ts';

const time = z.iso.datetime();
const target = answerOf(provisioningTargets);
const account = z.object({
  sub: z.string(),
  username: z.string().optional().describe('Absent for a deleted user.'),
  remote_id: z.string().optional().describe('The id of the account at the application.'),
  state: z
    .enum(accountStates)
    .describe('none: the application has no account yet. left: the account was disabled or deleted, or is left alone.'),
  waiting: z.boolean().describe('Whether a request about the user is sent next.'),
  problem: z
    .enum(provisioningProblems)
    .optional()
    .describe(
      'taken: an account with this userName has another externalId, or is not known to be that of the user. ambiguous: several accounts match. unnamed: the application named no id of the new account.',
    ),
  last_act: z.enum(provisioningActs).optional(),
  answer_status: z.int().optional().describe('The status of the last answer.'),
  answered_at: time.optional(),
  last_failure: z.string().optional(),
  next_attempt_at: time.optional(),
  created_at: time,
});

export const provisioningAnswers = {
  ProvisioningTarget: target,
  ProvisioningTargetPage: z.object({ provisioning_targets: z.array(target), next_cursor: z.string().optional() }),
  ApprovedProvisioning: z.object({ leaving: z.int().describe('How many accounts end.') }),
  ProvisionedUserPage: z.object({ users: z.array(account), next_cursor: z.string().optional() }),
} as const;
