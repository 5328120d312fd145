// Chooses the colour and the letters of the tile that stands for a user or a client without a picture.

/** The number of colours; style.css has a class `tile-N` for each, on which white text has a contrast of at least 7:1. */
export const tileColors = 12;

/** The colour of a tile: always the same for the same id (FNV-1a). */
export function tileOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % tileColors;
}

/** Scripts in which two letters beside each other read as initials: Arabic ones would join, and one of Chinese or Japanese is a word. */
const ofInitials =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Hebrew}]/u;

/** The first letter of a name, and that of its last word if it has several. @param initial gives the first letter of a text */
export function initialsOf(name: string, initial: (text: string) => string): string {
  const words = name.split(/\s+/).filter((word) => /^\P{L}*[\p{L}\p{N}]/u.test(word));
  const first = initial(words[0] ?? name);
  const last = words.length > 1 ? initial(words.at(-1)!) : '';
  return ofInitials.test(first) && ofInitials.test(last) ? first + last : first;
}
