// Reads the plans with which PostgreSQL ran statements, as its extension auto_explain writes them into the server's log.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type pg from 'pg';

/** One node of a plan, as EXPLAIN (FORMAT JSON) gives it: the members that are read here. */
interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Loops'?: number;
  Plans?: Node[];
}
interface Explained {
  'Query Text': string;
  Plan: Node & { 'Shared Hit Blocks'?: number; 'Shared Read Blocks'?: number };
}

/** One statement that ran, with its plan. */
export interface Ran {
  /** The name under which the service prepared it. */
  name: string;
  /** How each table was read, such as "Index Scan clients_newest". */
  scans: string[];
  /** The tables that were read from end to end. */
  read: string[];
  /** Blocks of 8 KiB that were read. */
  blocks: number;
  /** In milliseconds, including the cost of measuring each node. */
  duration: number;
}

/** Makes each new connection to the database log its statements, and ends the existing connections. */
export async function explainAll(sql: pg.Client, database: string): Promise<void> {
  const settings = {
    session_preload_libraries: 'auto_explain',
    log_statement: 'all',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_format': 'json',
  };
  for (const [name, value] of Object.entries(settings))
    await sql.query(`ALTER DATABASE ${database} SET ${name} = '${value}'`);
  await sql.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
    [database],
  );
}

export function logEnd(path: string): number {
  const file = openSync(path, 'r');
  try {
    return fstatSync(file).size;
  } finally {
    closeSync(file);
  }
}

/** The statements since the log had this size. */
export function plansSince(path: string, offset: number): Ran[] {
  const file = openSync(path, 'r');
  let log: string;
  try {
    const buffer = Buffer.alloc(Math.max(0, fstatSync(file).size - offset));
    readSync(file, buffer, 0, buffer.length, offset);
    log = buffer.toString();
  } finally {
    closeSync(file);
  }
  const names = new Map<string, string>();
  const found: Ran[] = [];
  // an entry begins with the time; its further lines with a tab
  for (const entry of log.split(/\n(?=\d{4}-\d\d-\d\d )/)) {
    const sent = /LOG: {2}execute (.*?): (.*)$/s.exec(entry);
    if (sent) names.set(folded(sent[2]!), sent[1]!.trim());
    const ran = /LOG: {2}duration: ([\d.]+) ms {2}plan:\n(.*)$/s.exec(entry);
    if (!ran) continue;
    const { 'Query Text': text, Plan: plan } = JSON.parse(ran[2]!.replace(/^\t/gm, '')) as Explained;
    const nodes = nodesOf(plan).filter((node) => (node['Actual Loops'] ?? 1) > 0);
    // the driver's own statements are not prepared, and run once for each connection
    const name = names.get(folded(text));
    if (name === undefined) continue;
    found.push({
      name,
      scans: [...new Set(nodes.flatMap(scanOf))],
      read: [
        ...new Set(nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']!)),
      ],
      blocks: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
      duration: Number(ran[1]),
    });
  }
  return found;
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
const folded = (text: string) => text.replace(/\s+/g, ' ').trim();

function scanOf(node: Node): string[] {
  const [type, index, table] = [node['Node Type'], node['Index Name'], node['Relation Name']];
  if (index !== undefined) return [`${type} ${index}`];
  // a bitmap's own scan has named the index already
  return table !== undefined && /^(Seq|Sample|Tid)/.test(type) ? [`${type} ${table}`] : [];
}
