-- Searches, look-alikes, keys of resources and unique values are the same on every database, as the names of users are: the locale of the
-- database plays no part. Each function is as before, except that it names its collation, by which signs such as < are no punctuation and are
-- listed; each index on one is built anew.
CREATE OR REPLACE FUNCTION folded(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN replace(replace(replace(translate(
    lower(regexp_replace(normalize(value, NFKD), '[\u0300-\u036f\u064b-\u0655\u05b0-\u05c7]', '', 'g') COLLATE "und-x-icu"),
    'łøđðħıŧþς', 'loddhittσ'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');

CREATE OR REPLACE FUNCTION user_words(username text, email text, claims jsonb, groups text[], status text, admin boolean)
  RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
  WITH names AS (
    SELECT left(folded(left(username || ' ' || coalesce(email, '') || ' ' || coalesce(split_part(email, '@', 2), '')
      || ' ' || coalesce(claims ->> 'name', '') || ' ' || coalesce(claims ->> 'given_name', '')
      || ' ' || coalesce(claims ->> 'middle_name', '') || ' ' || coalesce(claims ->> 'family_name', '')
      || ' ' || coalesce(claims ->> 'nickname', '') || ' ' || coalesce(claims ->> 'preferred_username', ''), 2000)), 2000) AS text)
  SELECT array_to_tsvector(array_agg(DISTINCT word)) FROM (
    SELECT left(word, 100) FROM names, regexp_split_to_table(text COLLATE "und-x-icu", '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT left(word, 100) FROM names, regexp_split_to_table(text COLLATE "und-x-icu", '[[:space:][:cntrl:][:punct:]\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+') AS word WHERE word <> ''
    UNION ALL SELECT chr(1) || 'group ' || left(name, 255) FROM unnest(groups) AS name
    UNION ALL SELECT chr(1) || status
    UNION ALL SELECT chr(1) || 'admin' WHERE admin) AS found (word);
END;

CREATE OR REPLACE FUNCTION user_search(typed text, of_group text, of_status text, is_admin boolean)
  RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT string_agg('''' || replace(replace(word, '\', '\\'), '''', '''''') || '''' || kind, ' & ')::tsquery FROM (
    SELECT left(word, 100), ':*' FROM regexp_split_to_table(folded(typed) COLLATE "und-x-icu", '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT chr(1) || 'group ' || left(of_group, 255), '' WHERE of_group IS NOT NULL
    UNION ALL SELECT chr(1) || of_status, '' WHERE of_status IS NOT NULL
    UNION ALL SELECT chr(1) || 'admin', '' WHERE is_admin) AS asked (word, kind);
END;

CREATE INDEX users_words_anew ON users USING gin (user_words(username, email, claims, groups, status, admin))
  WITH (gin_pending_list_limit = 512);

CREATE OR REPLACE FUNCTION group_words(name text, description text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
  WITH words AS (SELECT folded(name || ' ' || description) AS text)
  SELECT coalesce(array_to_tsvector(array_agg(DISTINCT word)), ''::tsvector) FROM (
    SELECT left(word, 100) FROM words, regexp_split_to_table(text COLLATE "und-x-icu", '[[:space:][:cntrl:]]+') AS word WHERE word <> ''
    UNION ALL SELECT left(word, 100) FROM words, regexp_split_to_table(text COLLATE "und-x-icu", '[[:space:][:cntrl:][:punct:]\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+') AS word WHERE word <> '') AS found (word);
END;
CREATE INDEX groups_words_anew ON groups USING gin (group_words(name, description)) WITH (gin_pending_list_limit = 512);

CREATE OR REPLACE FUNCTION client_search_terms(client_id text, metadata jsonb) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 5000
RETURN array_to_tsvector(ARRAY(
  SELECT DISTINCT left(login_key(term), 200)
    FROM (
      SELECT client_id
      UNION ALL
      SELECT regexp_split_to_table((metadata ->> 'client_name') COLLATE "und-x-icu", '\s+')
      UNION ALL
      SELECT regexp_split_to_table((metadata ->> 'client_name') COLLATE "und-x-icu", '[\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+')
      UNION ALL
      SELECT array_to_string(labels[first:], '.')
        FROM unnest(redirect_hosts(metadata)) AS host,
             regexp_split_to_array(host, '\.') AS labels,
             generate_series(1, greatest(cardinality(labels) - 1, 1)) AS first
    ) AS terms (term)
   WHERE term <> ''));
CREATE INDEX clients_search_anew ON clients USING gin (client_search_terms(client_id, metadata));

CREATE OR REPLACE FUNCTION name_skeleton(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN replace(replace(
  regexp_replace(
    lower(translate(normalize(name, NFKD),
      'аАвВеЕѕЅіІјЈкКмМнНоОрРсСтТуУхХԁԛԝһӏӀгпи' || 'αΑβΒγεΕζΖηΗιΙκΚμΜνΝοΟρΡσςτΤυΥχΧω' || 'ıłŁøØđĐħɑɡɩ' || 'օսոհցյ' || '0153iI|!',
      'aabbeesslljjkkmmhhooppccttyyxxdqwhllrnu' || 'aabbyeezznhllkkumvnoopposttuyxxw' || 'lllooddhagl' || 'ounhgj' || 'olsellll') COLLATE "und-x-icu"),
    '[\u0300-\u036f\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e\u00a0-\u00bf\u2000-\u206f]+', '', 'g'),
  'rn', 'm'), 'vv', 'w');
CREATE INDEX clients_look_alikes_anew ON clients USING gin (name_neighbours(metadata ->> 'client_name')) WHERE status = 'enabled';

CREATE OR REPLACE FUNCTION resource_key(uri text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
  SELECT coalesce(
    (SELECT lower(part[1] COLLATE "und-x-icu") || '://' || coalesce(substring(part[2] FROM '^.*@'), '')
         || regexp_replace(
              lower(regexp_replace(part[2], '^.*@', '') COLLATE "und-x-icu"),
              CASE lower(part[1] COLLATE "und-x-icu") WHEN 'https' THEN ':(443)?$' WHEN 'http' THEN ':(80)?$' ELSE ':$' END, '')
         || CASE WHEN part[3] LIKE '/%' THEN '' ELSE '/' END || part[3]
       FROM regexp_match(uri, '^([^:/?#]+)://([^/?#]*)(.*)$') AS part WHERE part IS NOT NULL),
    lower(substring(uri FROM '^[^:]*') COLLATE "und-x-icu") || coalesce(substring(uri FROM ':.*$'), ''));
END;
CREATE UNIQUE INDEX resources_key_anew ON resources (resource_key(resource));

-- Of two users whose values of a unique attribute are equal now, one keeps it: the other is refused at the next change of the value.
CREATE OR REPLACE FUNCTION attribute_digest(value jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
RETURN sha256(convert_to(login_key(value #>> '{}'), 'UTF8'));
INSERT INTO unique_attribute_values (name, digest, sub)
  SELECT v.name, attribute_digest(u.claims -> v.name), v.sub FROM unique_attribute_values v JOIN users u USING (sub) WHERE u.claims ? v.name
  ON CONFLICT DO NOTHING;
DELETE FROM unique_attribute_values v USING users u
 WHERE u.sub = v.sub AND v.digest IS DISTINCT FROM attribute_digest(u.claims -> v.name);

DROP INDEX users_words, groups_words, clients_search, clients_look_alikes, resources_key;
ALTER INDEX users_words_anew RENAME TO users_words;
ALTER INDEX groups_words_anew RENAME TO groups_words;
ALTER INDEX clients_search_anew RENAME TO clients_search;
ALTER INDEX clients_look_alikes_anew RENAME TO clients_look_alikes;
ALTER INDEX resources_key_anew RENAME TO resources_key;

-- Each start lists the pairs that are exempt from the rule of login_keys.
CREATE INDEX login_keys_of_both ON login_keys (key) WHERE is_client AND sub IS NOT NULL;
