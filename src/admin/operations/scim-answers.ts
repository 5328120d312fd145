// Declares the answers of the operations on SCIM sources.
import { z } from 'zod';
import { answerOf } from '../../entities/entity.ts';
import { scimSources } from '../../entities/scim-sources.ts';

const source = answerOf(scimSources);
const token = z.object({
  id: z.string(),
  created_at: z.iso.datetime(),
  last_used_at: z.iso.datetime().optional().describe('The last use, to the minute.'),
});

export const scimAnswers = {
  ScimSource: source,
  ScimSourcePage: z.object({ scim_sources: z.array(source) }),
  ScimTokens: z.object({ tokens: z.array(token) }),
  NewScimToken: token.extend({
    address: z.string().describe('The address that the directory needs beside the token.'),
    token: z.string().describe('The token, which no other answer shows.'),
  }),
} as const;
