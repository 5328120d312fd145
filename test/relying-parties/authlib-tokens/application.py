"""An API of Flask that exchanges the tokens that it receives, and gets tokens by a certificate and for details, with Authlib."""

import json
import os

import requests
from authlib.integrations.requests_client import OAuth2Session
from flask import Flask, request

issuer = os.environ["ISSUER"]
metadata = requests.get(issuer + "/.well-known/openid-configuration", timeout=5).json()
app = Flask(__name__)

gateway = OAuth2Session(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])

# the method "none" sends the client_id only, and the certificate of the connection authenticates the client
ledger = OAuth2Session(os.environ["CERTIFICATE_CLIENT_ID"], token_endpoint_auth_method="none")
ledger.cert = (os.environ["CLIENT_CERTIFICATE"], os.environ["CLIENT_KEY"])
ledger.verify = os.environ["SERVERS_CA"]
# the address at which the service takes certificates: Authlib does not read it itself
aliases = metadata["mtls_endpoint_aliases"]


@app.get("/exchanged")
def exchanged():
    token = gateway.fetch_token(
        metadata["token_endpoint"],
        grant_type="urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token=request.headers["authorization"].removeprefix("Bearer "),
        subject_token_type="urn:ietf:params:oauth:token-type:access_token",
        resource=os.environ["TARGET"],
    )
    return {"token": token["access_token"]}


@app.get("/by-certificate")
def by_certificate():
    token = ledger.fetch_token(
        aliases["token_endpoint"], grant_type="client_credentials", resource=os.environ["RESOURCE"], scope="notes.read"
    )
    return {"token": token["access_token"]}


@app.get("/details")
def details():
    wanted = [{"type": os.environ["DETAILS_TYPE"], "amount": "12.50"}]
    token = ledger.fetch_token(
        aliases["token_endpoint"], grant_type="client_credentials", authorization_details=json.dumps(wanted)
    )
    return {"details": token["authorization_details"]}


app.run(
    host="127.0.0.1",
    port=int(os.environ["PORT"]),
    ssl_context=(os.environ["SERVER_CERTIFICATE"], os.environ["SERVER_KEY"]),
)
