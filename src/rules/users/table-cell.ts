// Marks the cells of a CSV table so that a spreadsheet runs none of them as a formula (security R126).

/**
 * The start of a formula: also in full-width characters, and after white space or invisible characters. Apostrophes before
 * it match too, so that unmarkedCell() removes only the one that markedCell() added.
 */
const formula = /^[\s\p{Cc}\p{Cf}']*[=+\-@\uff0b\uff0d\uff1d\uff20]|^'*[\t\r]/u;

/** The same after a possible separator: in many languages spreadsheets split a file at semicolons, even quoted ones. */
const innerFormula = /([;\t\r\n])([[\s\p{Cc}\p{Cf}']--[\t\r\n]]*)(?=[=+\-@\uff0b\uff0d\uff1d\uff20])/gv;
const markedInnerFormula = /([;\t\r\n])'([[\s\p{Cc}\p{Cf}']--[\t\r\n]]*)(?=[=+\-@\uff0b\uff0d\uff1d\uff20])/gv;

/** Puts an apostrophe before each part of a cell that a spreadsheet would run; unmarkedCell() removes them. */
export function markedCell(cell: string): string {
  const marked = cell.replace(innerFormula, "$1'$2");
  return formula.test(marked) ? `'${marked}` : marked;
}

export function unmarkedCell(cell: string): string {
  const rest = cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
  return rest.replace(markedInnerFormula, '$1$2');
}
