// Serves the console's pages about lists of rules, which one declares as members: the form that adds or changes a rule, and the acts on a line.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RuleKind, RuleList } from '../../entities/field.ts';
import { notFound } from '../../oauth/errors.ts';
import type { Refusal } from '../../oauth/refusals.ts';
import type { ConsoleSection } from '../../pages/views/console.ts';
import type { RuleListView, TrailLink } from '../../pages/views/console-rules.ts';
import { singleValued } from '../../server/parameters.ts';
import type { AdminSession, Console, Needs } from './admin-session.ts';
import { namesOf, type Typed, typedIn } from './form.ts';
import { queryOf } from './links.ts';
import { withKeys } from './picked.ts';
import { refusedView } from './refused.ts';
import { idOf, kindOf, kindsFor, linesOf, refusalOfRule, ruleOf, typedOfRule, valuesOf, viewOfRule } from './rules.ts';
import { submittedForms } from './submitted-form.ts';

type Values = Readonly<Record<string, unknown>>;

/** One that has lists of rules. */
export interface RuleOwner {
  /** The address below which the pages of its rules are. */
  path: string;
  name: string;
  /** The pages above those of its rules: the last one lists the rules. */
  trail: [...TrailLink[], TrailLink];
  /** Where the catalogue has the words of its members, and those that are missing there. */
  words: string;
  general?: string;
  /** Its members as the API shows them. */
  values: Values;
  lists: Readonly<Record<string, RuleList>>;
}

export interface RulePages<One> {
  /** The path of one, with its parameter at the end: `/admin/clients/:id`. */
  path: string;
  section: ConsoleSection;
  /** The operation that changes one. */
  needs: Needs;
  find(admin: AdminSession, request: FastifyRequest): Promise<One>;
  ownerOf(one: One): RuleOwner;
  change(admin: AdminSession, one: One, members: Values): Promise<{ done: unknown } | { refused: Refusal }>;
}

const listedOn = ({ trail }: RuleOwner): string => trail.at(-1)!.uri;
const rulesIn = ({ values }: RuleOwner, member: string): unknown[] => (values[member] as unknown[] | undefined) ?? [];
const pathOf = ({ path }: RuleOwner, member: string) => `${path}/rules/${member}`;

/** The lists of one, as its page shows them. */
export const ruleLists = (admin: AdminSession, owner: RuleOwner): RuleListView[] =>
  Object.entries(owner.lists).map(([member, list]) => {
    const uri = pathOf(owner, member);
    return {
      member,
      words: owner.words,
      general: owner.general ?? owner.words,
      lines: linesOf(list, rulesIn(owner, member), (id) => `${uri}/${id}`),
      newUri: `${uri}/new`,
      form: admin.form(uri),
      ordered: list.ordered ?? false,
    };
  });

/** What the form of a rule shows. */
interface Shown {
  kind?: RuleKind | undefined;
  typed?: Typed;
  refused?: Refusal;
  /** Whether the rule was changed or removed since its form was opened. */
  gone?: true;
}

export function rulePages<One>(app: FastifyInstance, console: Console, of: RulePages<One>): void {
  const { needs, section } = of;
  const submitted = submittedForms(console);
  const paramsIn = (request: FastifyRequest) => request.params as Record<string, string>;
  const kindIn = (request: FastifyRequest) => singleValued(request.query)['kind'];
  /** The address of a request, as the forms of its page have it. */
  const hereOf = (request: FastifyRequest, end: string): string => {
    const { member = '' } = paramsIn(request);
    const path = of.path.replace(/:(\w+)$/, (_all, name: string) => encodeURIComponent(paramsIn(request)[name]!));
    return `${path}/rules/${encodeURIComponent(member)}${end}`;
  };

  /** The list that a request names. @throws OAuthError not_found */
  async function listIn(admin: AdminSession, request: FastifyRequest) {
    const one = await of.find(admin, request);
    const owner = of.ownerOf(one);
    const { member = '', rule: id } = paramsIn(request);
    const list = Object.hasOwn(owner.lists, member) ? owner.lists[member] : undefined;
    if (!list) throw notFound('there is no such list of rules');
    const rules = rulesIn(owner, member);
    const at = id === undefined ? -1 : rules.findIndex((rule) => idOf(rule) === id);
    const kinds = kindsFor(list, owner.values, rules[at]);
    const found = kinds.find(({ name }) => name === kindIn(request));
    return { one, owner, member, list, rules, kinds, found, at };
  }
  type Named = Awaited<ReturnType<typeof listIn>>;

  /** Shows the form of the rule at a place, or of a new one. */
  function show(admin: AdminSession, { owner, member, list, rules, kinds, at }: Named, shown: Shown): FastifyReply {
    const uri = pathOf(owner, member);
    const rule = rules[at];
    const action = rule === undefined ? `${uri}/new` : `${uri}/${idOf(rule)}`;
    const own = rule === undefined ? undefined : kindOf(list, rule);
    const before = rule === undefined ? (list.starts ?? {}) : beforeOf(list, rule);
    const chosen = shown.kind ?? own ?? (kinds.length === 1 ? kinds[0] : undefined);
    const { typed, refused, gone } = shown;
    return admin.send(
      'console-rule',
      {
        member,
        words: owner.words,
        general: owner.general ?? owner.words,
        of: { name: owner.name, uri: listedOn(owner) },
        trail: owner.trail,
        isNew: rule === undefined,
        kinds: kinds.map((kind) => ({
          kind: kind.name,
          fields: viewOfRule(kind, { ...typedOfRule(kind, before), ...(kind === chosen && typed) }),
          form: admin.form(`${action}${queryOf({ kind: kind.name })}`),
        })),
        ...(chosen && { chosen: chosen.name }),
        kindsUri: action,
        ...(gone && { gone }),
        ...(refused && { refused: refusedView(refused, namesOf(chosen?.fields ?? [])) }),
      },
      { section, status: gone ? 409 : refused ? 400 : 200 },
    );
  }

  for (const end of ['/new', '/:rule']) {
    const path = `${of.path}/rules/:member${end}`;
    const page = async (admin: AdminSession, request: FastifyRequest) => {
      const named = await listIn(admin, request);
      if (end === '/:rule' && named.at < 0) throw notFound('there is no such rule');
      return show(admin, named, { kind: named.found });
    };
    console.page(app, path, page, { needs });
    app.post(path, async (request, reply) => {
      const { rule: id = 'new' } = paramsIn(request);
      const action = hereOf(request, `/${encodeURIComponent(id)}`) + queryOf({ kind: kindIn(request) });
      const sent = await submitted(request, reply, action, needs);
      if (!sent) return reply;
      const { admin, body } = sent;
      const named = await listIn(admin, request);
      const { one, owner, member, list, rules, at, found: kind } = named;
      if (!kind) throw notFound('there is no such kind of rule');
      const typed = await withKeys(admin, kind.fields, typedIn(kind.fields, body));
      // what was typed is not lost with the rule: it can be added
      if (id !== 'new' && at < 0) return show(admin, named, { kind, typed, gone: true });
      const read = ruleOf(kind, typed, beforeOf(list, rules[at]));
      if ('refused' in read) return show(admin, named, { kind, typed, ...read });
      // a double click adds a rule once
      if (at < 0 && rules.some((rule) => idOf(rule) === idOf(read.rule)))
        return admin.done(listedOn(owner), 'rule-added');
      const place = at < 0 ? rules.length : at;
      const changed = await of.change(admin, one, { [member]: rules.toSpliced(place, 1, read.rule) });
      if ('done' in changed) return admin.done(listedOn(owner), at < 0 ? 'rule-added' : 'rule-changed');
      return show(admin, named, { kind, typed, refused: refusalOfRule(changed.refused, { list, member, at: place }) });
    });
  }

  app.post(`${of.path}/rules/:member`, async (request, reply) => {
    const sent = await submitted(request, reply, hereOf(request, ''), needs);
    if (!sent) return reply;
    const { admin, body } = sent;
    const named = await listIn(admin, request);
    const { one, owner, member, rules } = named;
    const { remove, up } = body;
    const at = rules.findIndex((rule) => idOf(rule) === (remove ?? up));
    // another administrator was first: the page shows the present rules
    if (at < 0) return admin.done(listedOn(owner), 'rule-gone');
    const others = rules.toSpliced(at, 1);
    const next = remove === undefined ? others.toSpliced(Math.max(at - 1, 0), 0, rules[at]) : others;
    const changed = await of.change(admin, one, { [member]: next });
    if ('refused' in changed) return show(admin, { ...named, at }, { refused: changed.refused });
    return admin.done(listedOn(owner), remove === undefined ? 'rule-moved' : 'rule-removed');
  });
}

/** The values of the fields of the rule that is changed. */
function beforeOf(list: RuleList, rule: unknown): Values {
  const kind = rule === undefined ? undefined : kindOf(list, rule);
  return kind ? valuesOf(kind, rule) : {};
}
