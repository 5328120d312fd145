"""The example of docs/dev.md for Python: a relying party with Authlib, and a provider that pytest starts."""

import os

import pytest
import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "true"  # the provider is on this machine


def test_a_user_signs_in(gatehouse):
    shop = gatehouse.clients[0]
    metadata = requests.get(f"{gatehouse.issuer}/.well-known/openid-configuration", timeout=30).json()
    session = OAuth2Session(
        shop["client_id"],
        shop["client_secret"],
        scope="openid profile email offline_access",
        redirect_uri=shop["redirect_uris"][0],
        code_challenge_method="S256",
    )
    verifier = "a-verifier-of-at-least-43-characters-for-this-test"
    url, state = session.create_authorization_url(
        metadata["authorization_endpoint"], code_verifier=verifier, prompt="consent"
    )

    callback = gatehouse.sign_in("alice", url)
    token = session.fetch_token(
        metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
    )
    assert session.get(metadata["userinfo_endpoint"]).json()["name"] == "Alice"

    gatehouse.pass_time(31 * 86_400)
    with pytest.raises(AuthlibBaseError):
        session.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
