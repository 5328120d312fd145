"""The example of docs/dev.md for Python: a relying party with Authlib, and a provider that pytest starts."""

import os
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "true"  # the provider is on this machine


VERIFIER = "a-verifier-of-at-least-43-characters-for-this-test"


def begin(gatehouse):
    """What a relying party keeps of a sign-in that it begins."""
    shop = gatehouse.clients[0]
    metadata = requests.get(f"{gatehouse.issuer}/.well-known/openid-configuration", timeout=30).json()
    session = OAuth2Session(
        shop["client_id"],
        shop["client_secret"],
        scope="openid profile email offline_access",
        redirect_uri=shop["redirect_uris"][0],
        code_challenge_method="S256",
    )
    url, state = session.create_authorization_url(
        metadata["authorization_endpoint"], code_verifier=VERIFIER, prompt="consent"
    )
    return metadata, session, url, state


def test_a_user_signs_in(gatehouse):
    metadata, session, url, state = begin(gatehouse)
    callback = gatehouse.sign_in("alice", url)
    token = session.fetch_token(
        metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=VERIFIER
    )
    assert session.get(metadata["userinfo_endpoint"]).json()["name"] == "Alice"

    gatehouse.pass_time(31 * 86_400)
    with pytest.raises(AuthlibBaseError):
        session.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])


def test_a_user_refuses(gatehouse):
    _, _, url, state = begin(gatehouse)
    answer = parse_qs(urlsplit(gatehouse.sign_in("alice", url, decision="deny")).query)
    # check it before fetch_token, which does not
    assert answer["error"] == ["access_denied"]
    assert answer["state"] == [state]
