// Serves GET /admin/settings, which lists the settings, by group or by words, and POST /admin/settings/test-mail.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import { type Appearance, appearanceSettings } from '../../../config/appearance-types.ts';
import { type SettingDescription, settingGroups } from '../../../config/setting-descriptions.ts';
import { hidden } from '../../../config/shown-settings.ts';
import type { AppearanceService } from '../../../domain/appearance/appearance.ts';
import { placeOf } from '../../../domain/instances/instance-place.ts';
import { OAuthError } from '../../../oauth/errors.ts';
import { text } from '../../../oauth/text.ts';
import type { MailTransport } from '../../../outbound/mail-transport.ts';
import type { ConsoleSettingsPages, SettingView } from '../../../pages/views/console-settings.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { sendTestMail, TestMailFailed } from '../../operations/mail.ts';
import { runningInstances } from '../../operations/pages/service.ts';
import type { AdminSession, Console } from '../admin-session.ts';

const path = '/admin/settings';
const testMailPath = `${path}/test-mail`;
const section = 'settings';
const sent = z.object({ csrf: text(100) });

type MailView = ConsoleSettingsPages['console-settings']['mail'];

interface SettingsDependencies {
  config: Config;
  appearance: AppearanceService;
  mailTransport: MailTransport;
  console: Console;
}

export async function settingsRoutes(
  app: FastifyInstance,
  { config, appearance, mailTransport, console }: SettingsDependencies,
): Promise<void> {
  const groups = settingGroups();
  const groupKeys = new Set(['all', ...groups.map(({ title }) => keyOf(title))]);
  /** The settings whose default the service computes. */
  const computed: Readonly<Record<string, string>> = {
    BASE_URL: config.issuer,
    PASSWORD_HASH_CONCURRENCY: String(config.passwordHashConcurrency),
  };

  console.page(app, path, (admin, request) => show(admin, {}, singleValued(request.query)), {
    needs: { permission: 'settings', act: 'read' },
  });

  app.post(testMailPath, async (request, reply) => {
    const { csrf } = readParameters(sent, request.body);
    const admin = await console.submitted(request, reply, {
      csrf,
      action: testMailPath,
      back: path,
      fresh: true,
      needs: sendTestMail,
    });
    if (!admin) return reply;
    try {
      await admin.run(sendTestMail, {});
    } catch (error) {
      if (error instanceof TestMailFailed) return show(admin, { failure: error.failure, reason: error.reason });
      const wait = error instanceof OAuthError && error.status === 429 ? Number(error.headers['retry-after']) : 0;
      if (wait > 0) return show(admin, { wait });
      throw error;
    }
    return show(admin, { sent: true });
  });

  async function show(
    admin: AdminSession,
    result: Pick<MailView, 'sent' | 'failure' | 'reason' | 'wait'> = {},
    { q = '', group }: { q?: string; group?: string } = {},
  ): Promise<FastifyReply> {
    const running = await admin.run(runningInstances, undefined);
    const answering = placeOf(config);
    const { email } = admin.session.user;
    const { kind, place } = mailTransport;
    const data = {
      q: q.replaceAll('\0', '').trim().slice(0, 100),
      ...(group !== undefined && groupKeys.has(group) && { group }),
      instances: running.map(({ place, startedAt }) => ({
        startedAt,
        ...(place && { address: `${place.host}:${place.port}`, version: place.version }),
        answers: place?.host === answering.host && place.port === answering.port,
      })),
      groups: groups.map(({ title, settings }) => ({ key: keyOf(title), title, settings: settings.map(viewOf) })),
      mail: {
        form: admin.form(testMailPath),
        ...(email !== undefined && { address: email }),
        ...(kind === 'smtp' ? { server: place } : { folder: place }),
        ...result,
      },
    };
    return admin.send('console-settings', data, { section, status: result.wait === undefined ? 200 : 429 });
  }

  function viewOf({ name, fallback, meaning }: SettingDescription): SettingView {
    const given = config.given[name];
    const stored = given === undefined ? storedValue(name) : undefined;
    const value = given ?? stored ?? (fallback || computed[name]) ?? '';
    return {
      name,
      meaning,
      value,
      secret: given === hidden,
      source: given !== undefined ? 'environment' : stored !== undefined ? 'console' : 'default',
      ...(fallback !== '' && fallback !== value && { fallback }),
      differs: (given ?? stored) !== undefined && (given === hidden || value !== fallback),
    };
  }

  /** What the console chose in place of a setting; for an image the kind of its file. */
  function storedValue(name: string): string | undefined {
    const { appearance: present, brand } = appearance.current();
    const part = (Object.keys(appearanceSettings) as (keyof Appearance)[]).find(
      (one) => appearanceSettings[one] === name,
    );
    const value = part && present[part];
    if (!part || value === undefined) return undefined;
    return typeof value === 'string' ? value : brand[part as 'logo' | 'logoDark' | 'favicon'];
  }
}

/** The title of a group as a part of a key: "Address and issuer" is `address-and-issuer`. */
export const keyOf = (title: string): string => title.toLowerCase().replace(/[^a-z]+/g, '-');
