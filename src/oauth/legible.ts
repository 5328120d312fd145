// Decides whether a text shows as it is: control characters, direction overrides and invisible characters make it look like another (security R48).
const deceptive = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;

export const isLegible = (text: string): boolean => !deceptive.test(text);
