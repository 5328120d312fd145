-- Reduces a name to what the eye sees: without accents, case, spaces and signs, and with one letter for letters that look the same (after Unicode
-- TR39).
CREATE OR REPLACE FUNCTION name_skeleton(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(replace(
  regexp_replace(
    lower(translate(normalize(name, NFKD),
      'аАвВеЕѕЅіІјЈкКмМнНоОрРсСтТуУхХԁԛԝһӏӀгпи' || 'αΑβΒγεΕζΖηΗιΙκΚμΜνΝοΟρΡσςτΤυΥχΧω' || 'ıłŁøØđĐħɑɡɩ' || 'օսոհցյ' || '0153iI|!',
      'aabbeesslljjkkmmhhooppccttyyxxdqwhllrnu' || 'aabbyeezznhllkkumvnoopposttuyxxw' || 'lllooddhagl' || 'ounhgj' || 'olsellll') COLLATE "und-x-icu"),
    '[\u0300-\u036f\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e\u00a0-\u00bf\u2000-\u206f]+', '', 'g'),
  'rn', 'm'), 'vv', 'w');
