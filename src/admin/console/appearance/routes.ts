// Serves GET|POST /admin/appearance: shows, previews and changes the name, the logos, the icon, the accent colour and the support link.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import { isColor } from '../../../config/accent-color.ts';
import { type Appearance, appearanceSettings } from '../../../config/appearance-types.ts';
import { imageTypeOf } from '../../../config/image.ts';
import type { AppearanceService } from '../../../domain/appearance/appearance.ts';
import { appearance as members, imageParts, memberOf, textParts } from '../../../entities/appearance.ts';
import { formOf } from '../../../entities/form.ts';
import { faultOf } from '../../../oauth/refusals.ts';
import { text } from '../../../oauth/text.ts';
import type { PageResponses } from '../../../pages/page-response.ts';
import { previewPath } from '../../../pages/preview.ts';
import type { ConsoleFrame } from '../../../pages/views/console.ts';
import type { AppearanceFault, ConsoleSettingsPages } from '../../../pages/views/console-settings.ts';
import type { BrowserSessions } from '../../../browser/session.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { appearanceLimit, changeAppearance } from '../../operations/appearance.ts';
import { checkInput } from '../../operations/operation.ts';
import type { AdminSession, Console } from '../admin-session.ts';
import { keptOf } from '../kept-by-files.ts';
import { inputOf as formInput, typedIn } from '../form.ts';

const path = '/admin/appearance';
const section = 'appearance';
const sent = z.object({ csrf: text(100), act: z.enum(['preview', 'save']).default('save') });

type Page = Omit<ConsoleSettingsPages['console-appearance'], keyof ConsoleFrame>;
type Faults = Partial<Record<string, { code: AppearanceFault; contrast: string | undefined }>>;
type Typed = Readonly<Record<string, string>>;

const texts = formOf({ members });

interface AppearanceDependencies {
  appearance: AppearanceService;
  sessions: BrowserSessions;
  pages: PageResponses;
  console: Console;
  config: Config;
}

export async function appearanceRoutes(
  app: FastifyInstance,
  { config, appearance, console, sessions, pages }: AppearanceDependencies,
): Promise<void> {
  console.page(app, path, (admin) => show(admin), { fresh: true, needs: changeAppearance });

  // the service reads such a long form from administrators only
  const onlyAdministrators = async (request: FastifyRequest, reply: FastifyReply) =>
    (await sessions.find(request, reply))?.user.admin ? undefined : pages.redirect(reply, path);

  app.post(path, { bodyLimit: appearanceLimit, onRequest: onlyAdministrators }, async (request, reply) => {
    const { csrf, act } = readParameters(sent, request.body);
    const admin = await console.submitted(request, reply, {
      csrf,
      action: path,
      back: path,
      fresh: true,
      needs: changeAppearance,
    });
    if (!admin) return reply;
    const typed = singleValued(request.body);
    const input = inputOf(typed);
    const checked = checkInput(changeAppearance, input, config);
    if (checked.error) return show(admin, typed, faultsOf(checked.error));
    if (act === 'preview') return show(admin, typed);
    // the schema has checked the input, and knows its type
    const saved = await admin.run(changeAppearance, {}, checked.input as never).catch(keptOf);
    if ('section' in saved) return show(admin, typed, {}, 409);
    return admin.done(path, 'appearance-saved');
  });

  /** @param typed the form, if it was sent and is not stored */
  function show(admin: AdminSession, typed?: Typed, faults: Faults = {}, refused?: 409): FastifyReply {
    const { fixed, brand, appearance: present } = appearance.current();
    const settingOf = (part: keyof Appearance) =>
      fixed.includes(part) ? { setting: appearanceSettings[part] } : undefined;
    const faultAt = (member: string) => {
      const fault = faults[member];
      return fault && { fault: fault.code };
    };
    const shown = textParts.map(({ column, name }) => ({
      name: column,
      value: (fixed.includes(name) || !typed ? present[name] : typed[column]) ?? '',
      ...settingOf(name),
      ...faultAt(column),
    }));
    const valueOf = (member: string) => shown.find(({ name }) => name === member)!.value;
    const accent = valueOf('accent_color');
    const name = valueOf('product_name');
    const contrast = faults['accent_color']?.contrast;
    const page: Page = {
      form: admin.form(path),
      texts: shown,
      images: imageParts.map(({ column: member, name: part }) => {
        const removed = typed?.[`remove_${member}`] === 'true';
        const chosen = (!fixed.includes(part) && typed?.[member]) || '';
        const type = imageTypeOf(Buffer.from(chosen, 'base64'));
        const uri = type ? `data:image/${type};base64,${chosen}` : removed ? undefined : brand[part];
        return {
          name: member,
          chosen: type ? chosen : '',
          removed,
          ...(uri !== undefined && { uri }),
          ...settingOf(part),
          ...faultAt(member),
        };
      }),
      preview: { stylesheet: previewPath(isColor(accent) ? accent : undefined), ...(name !== '' && { name }) },
      unsaved: typed !== undefined,
      ...(contrast !== undefined && { contrast }),
    };
    const status = refused ?? (Object.keys(faults).length > 0 ? 400 : 200);
    return admin.send('console-appearance', page, { section, status });
  }

  /** The change that a form asks for: an empty text removes, and an image stays unless one is chosen or removed. */
  function inputOf(typed: Typed): Record<string, unknown> {
    const { fixed } = appearance.current();
    const free = texts.filter(({ name }) => !fixed.some((part) => memberOf(part) === name));
    const images = imageParts.flatMap(({ column: member, name }) => {
      if (fixed.includes(name)) return [];
      const chosen = typed[member] ?? (typed[`remove_${member}`] === 'true' ? null : undefined);
      return chosen === undefined ? [] : [[member, chosen] as const];
    });
    return { ...formInput(free, typedIn(free, typed)), ...Object.fromEntries(images) };
  }
}

function faultsOf({ issues }: z.ZodError): Faults {
  return Object.fromEntries(
    issues.map((issue) => {
      const { code, params } = faultOf(issue);
      return [String(issue.path[0]), { code: code as AppearanceFault, contrast: params?.['contrast'] }];
    }),
  );
}
