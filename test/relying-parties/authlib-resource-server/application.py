"""An API of Flask that takes JWT access tokens with Authlib."""

import os

import requests
from authlib.integrations.flask_oauth2 import ResourceProtector, current_token
from authlib.oauth2.rfc9068 import JWTBearerTokenValidator
from flask import Flask
from joserfc.jwk import KeySet

issuer = os.environ["ISSUER"]


class Validator(JWTBearerTokenValidator):
    """Takes access tokens of the type at+jwt for this API only (RFC 9068 4)."""

    def get_jwks(self):
        metadata = requests.get(issuer + "/.well-known/oauth-authorization-server", timeout=5).json()
        return KeySet.import_key_set(requests.get(metadata["jwks_uri"], timeout=5).json())


protect = ResourceProtector()
protect.register_token_validator(Validator(issuer=issuer, resource_server=os.environ["RESOURCE"]))
app = Flask(__name__)


@app.get("/notes")
@protect("notes.read")
def notes():
    return {"subject": current_token["sub"]}


app.run(host="127.0.0.1", port=int(os.environ["PORT"]))
