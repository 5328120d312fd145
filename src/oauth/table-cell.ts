// The cells of every table that is written as CSV: a spreadsheet runs none of them as a formula (security R126).

/**
 * What a spreadsheet takes for a formula, full-width forms included, also behind white space and invisible characters; behind
 * apostrophes too, so that reading can tell the mark from what was there before.
 */
const formula = /^[\s\p{Cc}\p{Cf}']*[=+\-@\uff0b\uff0d\uff1d\uff20]|^'*[\t\r]/u;

/** The same behind what may separate cells: spreadsheets in many languages split a file at semicolons, quoted or not. */
const innerFormula = /([;\t\r\n])([[\s\p{Cc}\p{Cf}']--[\t\r\n]]*)(?=[=+\-@\uff0b\uff0d\uff1d\uff20])/gv;
const markedInnerFormula = /([;\t\r\n])'([[\s\p{Cc}\p{Cf}']--[\t\r\n]]*)(?=[=+\-@\uff0b\uff0d\uff1d\uff20])/gv;

/** A cell with an apostrophe before each part that a spreadsheet would run; unmarkedCell() takes them away. */
export function markedCell(cell: string): string {
  const marked = cell.replace(innerFormula, "$1'$2");
  return formula.test(marked) ? `'${marked}` : marked;
}

export function unmarkedCell(cell: string): string {
  const rest = cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
  return rest.replace(markedInnerFormula, '$1$2');
}
