// Says on each page about one that configuration files keep which ones they are, and leads to the page that takes it over.
import type { FastifyRequest } from 'fastify';
import { OAuthError } from '../../oauth/errors.ts';
import type { KeptView } from '../../pages/views/console.ts';
import { keptOnPage } from '../operations/config/kept.ts';
import type { OperationContext } from '../operations/operation.ts';

export const takeOverPath = '/admin/take-over';
export const takeOverUri = (one: { section: string; key: string; back: string }): string =>
  `${takeOverPath}?${new URLSearchParams(one)}`;

/** The kept one for which an operation was refused. Throws any other error. */
export function keptOf(error: unknown): { section: string; key: string } {
  if (!(error instanceof OAuthError) || error.code !== 'kept_by_file') throw error;
  return { section: error.refusal!.member, key: error.refusal!.params!['key']! };
}

/** @param needs the operation whose permission the page asks for */
export async function keptView(
  context: OperationContext,
  request: Pick<FastifyRequest, 'url' | 'params'>,
  needs: object,
): Promise<KeptView | undefined> {
  const kept = await keptOnPage(context, needs, request.params as Record<string, string>);
  if (!kept) return undefined;
  const { noun, found, fileSet } = kept;
  const back = request.url.slice(context.config.basePath.length).split('?', 1)[0]!;
  return { files: fileSet, uri: takeOverUri({ section: noun.section, key: found.key, back }) };
}
