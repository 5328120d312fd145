"""One side of SAML by pysaml2: reads a request in JSON from standard input, and writes what the library made of it in JSON."""
import json
import sys

from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT
from saml2.client import Saml2Client
from saml2.config import IdPConfig, SPConfig
from saml2.metadata import create_metadata_string
from saml2.saml import NAMEID_FORMAT_PERSISTENT, NameID
from saml2.server import Server
from saml2.xmldsig import DIGEST_SHA256, SIG_RSA_SHA256

asked = json.load(sys.stdin)
base, work = asked["base"], asked["work"]
common = {
    "entityid": base + "/metadata",
    "xmlsec_binary": "/usr/bin/xmlsec1",
    "key_file": work + "/peer.key",
    "cert_file": work + "/peer.pem",
    "encryption_keypairs": [{"key_file": work + "/peer.key", "cert_file": work + "/peer.pem"}],
    "metadata": {"local": [asked["metadata"]] if "metadata" in asked else []},
    "signing_algorithm": SIG_RSA_SHA256,
    "digest_algorithm": DIGEST_SHA256,
    "allow_unknown_attributes": True,
}


def service_provider():
    service = {
        "endpoints": {
            "assertion_consumer_service": [(base + "/acs", BINDING_HTTP_POST)],
            "single_logout_service": [(base + "/slo", BINDING_HTTP_REDIRECT)],
        },
        "authn_requests_signed": True,
        "want_assertions_signed": True,
        "want_response_signed": asked.get("want_response_signed", False),
        "name_id_format": [NAMEID_FORMAT_PERSISTENT],
    }
    return SPConfig().load({**common, "service": {"sp": service}})


def identity_provider():
    service = {
        "endpoints": {
            "single_sign_on_service": [(base + "/sso", BINDING_HTTP_REDIRECT)],
            "single_logout_service": [(base + "/slo", BINDING_HTTP_REDIRECT)],
        },
        "policy": {"default": {"lifetime": {"minutes": 5}, "attribute_restrictions": None}},
        "want_authn_requests_signed": True,
        "name_id_format": [NAMEID_FORMAT_PERSISTENT],
    }
    return IdPConfig().load({**common, "service": {"idp": service}})


def location_of(info):
    return dict(info["headers"])["Location"]


def run(command):
    if command == "sp-metadata":
        return {"xml": create_metadata_string(None, service_provider()).decode()}
    if command == "idp-metadata":
        return {"xml": create_metadata_string(None, identity_provider()).decode()}
    if command == "authenticate":
        client = Saml2Client(config=service_provider())
        request, info = client.prepare_for_authenticate(
            entityid=asked["peer"], relay_state="state", sign=True, sigalg=SIG_RSA_SHA256
        )
        return {"id": request, "location": location_of(info)}
    if command == "read-response":
        client = Saml2Client(config=service_provider())
        outstanding = {asked["id"]: "/"}
        answer = client.parse_authn_request_response(asked["response"], BINDING_HTTP_POST, outstanding=outstanding)
        info = answer.session_info()
        return {"name": info["name_id"].text, "attributes": info["ava"], "session": answer.session_id(), "index": info["session_index"]}
    if command == "logout":
        client = Saml2Client(config=service_provider())
        name = NameID(format=NAMEID_FORMAT_PERSISTENT, text=asked["name"])
        request, message = client.create_logout_request(
            asked["destination"], asked["peer"], name_id=name, session_indexes=[asked["index"]], sign=False
        )
        info = client.apply_binding(
            BINDING_HTTP_REDIRECT, str(message), asked["destination"], "state", sign=True, sigalg=SIG_RSA_SHA256
        )
        return {"id": request, "location": location_of(info)}
    if command == "read-logout-response":
        client = Saml2Client(config=service_provider())
        answer = client.parse_logout_request_response(asked["response"], BINDING_HTTP_REDIRECT)
        return {"answered": answer.in_response_to, "good": answer.status_ok()}
    if command == "answer":
        server = Server(config=identity_provider())
        request = server.parse_authn_request(
            asked["request"], BINDING_HTTP_REDIRECT, relay_state=asked["state"], sigalg=asked["sigalg"], signature=asked["signature"]
        )
        arguments = server.response_args(request.message)
        answer = server.create_authn_response(
            identity={"givenName": ["Ann"], "mail": ["ann@corp.example"]},
            userid="ann",
            name_id=NameID(format=NAMEID_FORMAT_PERSISTENT, text=asked["name"]),
            authn={"class_ref": "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"},
            sign_assertion=True,
            sign_response=asked.get("sign_response", False),
            sign_alg=SIG_RSA_SHA256,
            digest_alg=DIGEST_SHA256,
            **arguments,
        )
        return {"xml": str(answer), "destination": arguments["destination"]}
    raise SystemExit("unknown command")


json.dump(run(sys.argv[1]), sys.stdout)
