// Reads the schema of a database as sorted lines of text: two databases with equal lines have the same schema.

/** Identifies no object by its OID, and no column by its position, which differs between a created and an altered table. */
const catalogue = `
  SELECT format('table %s %s %s', c.relname, c.relkind, c.reloptions) AS line FROM pg_class c
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'S')
  UNION ALL
  SELECT format('column %s.%s %s%s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                CASE WHEN a.attnotnull THEN ' not null' END, ' default ' || pg_get_expr(d.adbin, d.adrelid),
                ' generated ' || nullif(a.attgenerated::text, ''), ' identity ' || nullif(a.attidentity::text, ''))
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'c') AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  -- NOT NULL is listed with its column: PostgreSQL 18 lists it here as well, under a name that depends on its creation
  SELECT format('constraint %s %s %s%s', conrelid::regclass, conname, pg_get_constraintdef(oid), CASE WHEN connoinherit THEN ' no inherit' END)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype NOT IN ('n', 't')
  UNION ALL
  SELECT 'index ' || pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
   WHERE c.relnamespace = 'public'::regnamespace
  UNION ALL
  SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
   WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
  UNION ALL
  SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL
  SELECT format('type %s %s', typname, typtype) FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype <> 'b'
  UNION ALL
  SELECT format('sequence %s %s %s %s %s', sequencename, data_type, start_value, increment_by, max_value) FROM pg_sequences
   WHERE schemaname = 'public'
  UNION ALL
  SELECT format('inheritance %s of %s', inhrelid::regclass, inhparent::regclass) FROM pg_inherits
   WHERE inhparent IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r')
   ORDER BY line`;

interface Database {
  sql<Row extends { line: string }>(text: string): Promise<Row[]>;
}

export async function catalogueOf(database: Database): Promise<string[]> {
  return (await database.sql<{ line: string }>(catalogue)).map(({ line }) => line);
}
