// Checks the message that a client shows its user on both devices (OpenID Connect CIBA Core 7.1).

const most = 64;
const urlLike = /:\/\/|\bwww\.|[\p{L}\p{N}-]\.\p{L}{2,}/iu;

/**
 * Whether a message can be shown: 1 to 64 characters that print, in Unicode's composed form, without markup and web addresses (security R48). Neither direction nor
 * invisible characters may make it look like another.
 */
export function isBindingMessage(text: string): boolean {
  const length = [...text].length;
  if (length < 1 || length > most || text !== text.normalize('NFC') || text.trim() !== text) return false;
  return (
    !/[\p{C}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/u.test(text) &&
    !/[<>]/.test(text) &&
    !urlLike.test(text)
  );
}
