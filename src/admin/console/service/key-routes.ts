// Serves GET /admin/keys and the pages that rotate and withdraw signing keys.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { AdminSession, Console } from '../admin-session.ts';
import { readParameters, singleValued } from '../../../server/parameters.ts';
import { text } from '../../../oauth/text.ts';
import { conflict, notFound } from '../../../oauth/errors.ts';
import { type KeyAlgorithm, keyAlgorithms, type KeyRing } from '../../../tokens/key-ring.ts';
import { mostSamlKeys, type SamlKey } from '../../../domain/keys/saml-keys.ts';
import { samlPaths } from '../../../rules/saml/addresses.ts';
import { listKeys, rotateKeys, withdrawKey } from '../../operations/keys.ts';
import { activateSamlKey, createSamlKey, deleteSamlKey, listSamlKeys } from '../../operations/saml-keys.ts';
import { secretKeys } from '../../operations/pages/service.ts';
import { isTypedName } from '../typed-name.ts';
import type { Pages } from '../../../pages/views/index.ts';
import { queryOf } from '../links.ts';
import type { Config } from '../../../config.ts';

const list = '/admin/keys';
const rotation = '/admin/keys/rotate';
const withdrawal = '/admin/keys/withdraw';
const samlPath = '/admin/keys/saml';
const section = 'keys';
/** How many characters of a key's name the administrator has to type. */
const beginningLength = 8;

const rotationForm = z.object({
  csrf: text(100),
  immediate: z.literal('on').optional(),
  typed: text(300).optional(),
  ...(Object.fromEntries(keyAlgorithms.map((alg) => [`alg_${alg}`, z.literal('on').optional()])) as Record<
    `alg_${KeyAlgorithm}`,
    z.ZodOptional<z.ZodLiteral<'on'>>
  >),
});
const withdrawalForm = z.object({ csrf: text(100), kid: text(64), typed: text(100).optional() });

const samlForm = z.object({ csrf: text(100), act: text(20), id: text(64).optional() });
const samlActs: Readonly<Record<string, typeof createSamlKey | typeof activateSamlKey | typeof deleteSamlKey>> = {
  create: createSamlKey,
  activate: activateSamlKey,
  delete: deleteSamlKey,
};

interface KeyRoutesDependencies {
  config: Config;
  keyRing: KeyRing;
  console: Console;
}

export async function keyRoutes(
  app: FastifyInstance,
  { console, keyRing, config }: KeyRoutesDependencies,
): Promise<void> {
  const { keyRotationInterval, keyPublicationLead: lead } = config.lifetimes;

  const show = async (admin: AdminSession) => {
    const { keyIds, encrypting } = await admin.run(secretKeys, undefined);
    const samlKeys = await admin.run(listSamlKeys, {});
    const made = keyAlgorithms.map((alg) =>
      Math.max(...keyRing.keys.filter((key) => key.alg === alg).map(({ createdAt }) => createdAt.getTime())),
    );
    return admin.send(
      'console-keys',
      {
        keys: keyRing.keys.map(({ expiresAt, ...key }) => ({
          ...key,
          ...(expiresAt && { expiresAt }),
          ...(key.state !== 'signing' && { withdrawUri: withdrawal + queryOf({ kid: key.kid }) }),
        })),
        ...(keyRotationInterval > 0 && { next: new Date(Math.min(...made) + keyRotationInterval * 1000) }),
        rotateUri: rotation,
        ...(samlKeys.length > 0 && { saml: samlView(admin, samlKeys) }),
        secretKeys: [...new Set([...keyIds, ...encrypting])].map((id) => ({
          id,
          isUsed: keyIds.includes(id),
          instances: encrypting.filter((one) => one === id).length,
        })),
      },
      { section },
    );
  };

  console.page(app, list, show, { needs: listKeys });

  const samlView = (admin: AdminSession, keys: readonly SamlKey[]): NonNullable<Pages['console-keys']['saml']> => ({
    keys: keys.map(({ id, state, validUntil }) => ({
      id,
      state,
      validUntil,
      acts: state === 'signing' ? [] : state === 'waiting' ? ['activate', 'delete'] : ['delete'],
    })),
    metadataUri: samlPaths.metadata,
    form: admin.form(samlPath),
    canCreate: keys.length < mostSamlKeys,
  });

  app.post(samlPath, async (request, reply) => {
    const { csrf, act, id = '' } = readParameters(samlForm, request.body);
    const operation = Object.hasOwn(samlActs, act) ? samlActs[act]! : undefined;
    const admin = await console.submitted(request, reply, {
      csrf,
      action: samlPath,
      back: list,
      fresh: true,
      needs: operation ?? createSamlKey,
    });
    if (!admin) return reply;
    if (!operation) throw notFound('there is no such act');
    await admin.run(operation, { id });
    return admin.done(list, `saml-key-${act}d`);
  });

  const serviceName = new URL(config.issuer).host;

  console.page(app, rotation, (admin) => askRotation(admin, { chosen: [...keyAlgorithms], immediate: false }), {
    fresh: true,
    needs: rotateKeys,
  });

  app.post(rotation, async (request, reply) => {
    const form = readParameters(rotationForm, request.body);
    const admin = await console.submitted(request, reply, {
      csrf: form.csrf,
      action: rotation,
      back: rotation,
      fresh: true,
      needs: rotateKeys,
    });
    if (!admin) return reply;
    const algorithms = keyAlgorithms.filter((alg) => form[`alg_${alg}`] === 'on');
    const immediate = form.immediate === 'on';
    const given = { chosen: algorithms, immediate, typed: form.typed ?? '' };
    if (algorithms.length === 0) return askRotation(admin, { ...given, fault: 'algorithms' });
    // until they fetch the keys again, applications refuse tokens of a key that signs at once
    if (immediate && !isTypedName(form.typed, serviceName)) return askRotation(admin, { ...given, fault: 'typed' });
    const input = { immediate, algorithms };
    await admin.run(rotateKeys, {}, input);
    return admin.done(list, 'keys-rotated');
  });

  function askRotation(
    admin: AdminSession,
    given: Pick<Pages['console-keys-rotate'], 'chosen' | 'immediate' | 'typed' | 'fault'>,
  ): FastifyReply {
    const fixed = { algorithms: [...keyAlgorithms], lead, name: serviceName, backUri: list };
    const data = { ...fixed, ...given, form: admin.form(rotation) };
    return admin.send('console-keys-rotate', data, { section, status: given.fault ? 400 : 200 });
  }

  console.page(
    app,
    withdrawal,
    (admin, request) => {
      const { kid = '' } = singleValued(request.query);
      return askWithdrawal(admin, kid);
    },
    { fresh: true, needs: withdrawKey },
  );

  app.post(withdrawal, async (request, reply) => {
    const { csrf, kid, typed = '' } = readParameters(withdrawalForm, request.body);
    const back = withdrawal + queryOf({ kid });
    const admin = await console.submitted(request, reply, {
      csrf,
      action: withdrawal,
      shown: kid,
      back,
      fresh: true,
      needs: withdrawKey,
    });
    if (!admin) return reply;
    if (typed.trim() !== kid.slice(0, beginningLength)) return askWithdrawal(admin, kid, typed);
    await admin.run(withdrawKey, { kid });
    return admin.done(list, 'key-withdrawn');
  });

  function askWithdrawal(admin: AdminSession, kid: string, typed?: string): FastifyReply {
    const key = keyRing.keys.find((one) => one.kid === kid);
    if (!key) throw notFound('there is no such key');
    const { alg, state } = key;
    if (state === 'signing') throw conflict('this key is active: rotate the keys first');
    const form = admin.form(withdrawal, kid);
    const data = {
      kid,
      alg,
      state,
      beginning: kid.slice(0, beginningLength),
      backUri: list,
      form: { ...form, hidden: { ...form.hidden, kid } },
      ...(typed !== undefined && { typed: typed.slice(0, 100), fault: 'typed' as const }),
    };
    return admin.send('console-keys-withdraw', data, {
      section,
      status: typed === undefined ? 200 : 400,
    });
  }
}
