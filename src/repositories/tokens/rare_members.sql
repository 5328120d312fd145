-- What few tokens have, as access_tokens.find needs it. It is a function of its own, so that the statement does not prepare these expressions for the
-- other tokens.
CREATE FUNCTION {{rare_members}}(
  cnf jsonb, exchange jsonb, token_scope text, session_scope text, requested jsonb, details jsonb, claim_rules jsonb, metadata jsonb, of_user text, user_groups text[], of_client text
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN jsonb_build_object(
    'cnf', cnf,
    'exchange', exchange,
    'details', details,
    -- a token with a narrowed scope has no single claims
    'requested', CASE WHEN token_scope IS NULL THEN requested END,
    'registered_scope', CASE WHEN requested IS NOT NULL THEN metadata ->> 'scope' END,
    'userinfo_as_jwt', metadata ?| ARRAY['userinfo_signed_response_alg', 'userinfo_encrypted_response_alg'],
    'has_claim_rules', claim_rules IS NOT NULL,
    'roles', CASE WHEN claim_rules IS NOT NULL OR ' ' || coalesce(token_scope, session_scope) || ' ' LIKE '% roles %'
               THEN user_roles(of_user, user_groups, of_client) END);
END $$;
