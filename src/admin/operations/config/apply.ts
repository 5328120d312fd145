// Applies configuration files in one transaction, or nothing of them (federation 10).
import { withNewDeadline } from '../../../database/deadline.ts';
import { createAdministration } from '../../../domain/administration/administration.ts';
import type { Input } from '../../../entities/entity.ts';
import { conflict, OAuthError } from '../../../oauth/errors.ts';
import { refusal } from '../../../oauth/refusals.ts';
import { type Repositories, storeWithin } from '../../../repositories/store.ts';
import type { Administrator, OperationContext } from '../operation.ts';
import { type FileText, readConfigFile } from './config-file.ts';
import { stateOf } from './drift.ts';
import type { FileNoun, Secrets } from './noun.ts';
import { fileNouns } from './nouns.ts';
import { bound, type PlannedChange, type PlanOptions, type Step, stepsOf } from './plan.ts';
import { made, type ReadSecret } from './secret-sources.ts';

/** A secret that the service made, which is shown once. */
export interface MadeSecret {
  section: string;
  key: string;
  member: string;
  value: string;
}

export interface Applied {
  name: string;
  changes: PlannedChange[];
  notes: string[];
  warnings: string[];
  secrets: MadeSecret[];
}

export interface Application extends PlanOptions {
  texts: readonly FileText[];
  read: ReadSecret;
  /** Whether an administrator sees a secret that the service makes. */
  makesSecrets?: boolean;
  /** Who applies a file by a request. */
  actor?: string;
  /** The changes of a stored plan: others are refused. */
  expected?: readonly PlannedChange[];
}

const makesOne = (secrets: Secrets) => Object.values(secrets).some(({ value }) => value === undefined);

/** The operations as parts of the open transaction. */
function within(context: OperationContext, repositories: Repositories): OperationContext {
  const store = storeWithin(repositories);
  return { ...context, store, administration: createAdministration(store) };
}

/** Members that name a noun which comes later: they are set once that one exists. */
function later(noun: FileNoun, members: Input): string[] {
  const nouns = fileNouns();
  const after = nouns.slice(nouns.indexOf(noun) + 1).map(({ section }) => section);
  return Object.keys(members).filter((name) => after.includes(noun.of.members[name]?.refers ?? ''));
}

const split = (members: Input, names: readonly string[]): [Input, Input] => [
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name))),
  Object.fromEntries(
    Object.entries(members).filter(([name, value]) => names.includes(name) && value !== null && value !== undefined),
  ),
];

/** @throws OAuthError invalid_request, or conflict if a stored plan saw something else */
export async function applyConfig(
  context: OperationContext,
  { texts, read, expected, actor, makesSecrets = true, ...options }: Application,
): Promise<Applied> {
  const file = await readConfigFile(context, texts);
  const by: Administrator = { actor: `config:${file.name}`, kind: 'administrator' };
  const foreseen = await stepsOf(context, file, read, options);
  const result: Applied = { name: file.name, changes: [], notes: foreseen.notes, warnings: [], secrets: [] };
  if (foreseen.steps.length === 0 && !expected) return result;
  const unseen = makesSecrets ? undefined : foreseen.steps.find(({ secrets }) => makesOne(secrets));
  if (unseen) throw unseen.fault!('only the command can show a generated secret: apply the file once with the command');
  // other servers are asked before the transaction
  const insides: ((context: OperationContext) => OperationContext)[] = [];
  for (const { noun, wanted, fault } of foreseen.steps) {
    if (!wanted || !noun.prepare) continue;
    const prepared = await noun.prepare(context, wanted).catch(placed(fault));
    if (prepared.warning !== undefined) result.warnings.push(prepared.warning);
    if (prepared.inside) insides.push(prepared.inside);
  }
  await context.store.transaction(async (repositories) => {
    const inside = insides.reduce((one, enter) => enter(one), within(context, repositories));
    await repositories.keptObjects.lock();
    const { steps } = await stepsOf(inside, file, read, options);
    result.changes = steps.map(({ planned }) => planned);
    result.secrets = []; // a transaction may run again
    if (expected && bound(expected) !== bound(result.changes)) throw conflict(refusal('plan.stale', 'plan'));
    await perform(inside, by, file.name, steps, result.secrets);
    if (steps.length === 0) return;
    const count = (act: PlannedChange['act']) => steps.filter(({ planned }) => planned.act === act).length;
    const detail = {
      file_set: file.name,
      created: count('create'),
      changed: count('change'),
      deleted: count('delete'),
      ...(actor !== undefined && { applied_by: actor }),
    };
    await repositories.auditEvents.insert({ ...by, type: 'config.applied', outcome: 'success', detail });
  });
  for (const { section, key } of result.changes) if (section === 'clients') context.clients.forget(key);
  return result;
}

/** Gives the refusal of an entry its place in the file. */
const placed =
  (fault: Step['fault']) =>
  (error: unknown): never => {
    if (!(error instanceof OAuthError) || !fault) throw error;
    const { description } = fault(error.description, error.refusal?.member);
    throw new OAuthError(error.code, description, error.status, { cause: error });
  };

async function perform(
  context: OperationContext,
  by: Administrator,
  fileSet: string,
  steps: readonly Step[],
  shown: MadeSecret[],
): Promise<void> {
  const act = { context, by };
  const { keptObjects } = context.store;
  /** The values of the secrets that change, with those that are made now. */
  const valuesOf = ({ noun, planned: { section, key }, secrets }: Step): Secrets =>
    Object.fromEntries(
      Object.entries(secrets).map(([member, secret]) => {
        const given = made(secret, noun.makeSecret);
        if (secret.value === undefined) shown.push({ section, key, member, value: given.value! });
        return [member, given];
      }),
    );
  const last: (() => Promise<void>)[] = [];
  for (const step of steps) {
    const { planned, noun, found, wanted, change, fault } = step;
    // each change has the time of a request, however many there are
    await withNewDeadline(async () => {
      if (planned.act === 'delete') {
        await noun.remove(act, found!.key);
        await keptObjects.release(planned.section, planned.key);
        return;
      }
      const names = later(noun, change);
      const [now, then] = split(change, names);
      if (planned.act === 'create') {
        const [values] = split(wanted!.values, names);
        await noun.create(act, { ...wanted!, values }, valuesOf(step));
      } else if (planned.act === 'change') {
        const removed = Object.fromEntries(Object.entries(change).filter(([, value]) => value === null));
        await noun.change(act, found!, { ...now, ...removed }, valuesOf(step), wanted!);
      }
      if (Object.keys(then).length > 0)
        last.push(async () => {
          const one = (await noun.find(context, planned.key))!;
          await noun.change(act, one, then, {}, wanted!).catch(placed(fault));
        });
    }).catch(placed(fault));
  }
  for (const each of last) await withNewDeadline(each);
  for (const { noun, planned } of steps.filter((step) => step.planned.act !== 'delete'))
    await withNewDeadline(async () => {
      const { section, key } = planned;
      const found = (await noun.find(context, key))!;
      await keptObjects.keep({ section, key, fileSet, madeAt: found.madeAt, state: stateOf(found) });
    });
}
