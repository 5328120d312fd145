"""An application of Flask that signs users in and out with Authlib."""

import os
import secrets

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, render_template_string, session

url = f"http://127.0.0.1:{os.environ['PORT']}"
app = Flask(__name__)
app.secret_key = os.environ["SESSION_KEY"]

oauth = OAuth(app)
gatehouse = oauth.register(
    "gatehouse",
    server_metadata_url=os.environ["ISSUER"] + "/.well-known/openid-configuration",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256"},
)

# Tokens stay on the server, since Flask's session is a cookie that is signed but not encrypted.
visitors = {}

home = """<!doctype html><html lang="en"><title>Authlib</title><link rel="icon" href="data:,">
<h1>Signed in as {{ user.name }}</h1>
<dl><dt>Subject</dt><dd id="sub">{{ user.sub }}</dd>
<dt>Email</dt><dd id="email">{{ user.email }}</dd>
<dt>Access token</dt><dd id="access-token">{{ token.access_token }}</dd></dl>
<form method="post" action="/refresh"><button>Refresh</button></form>
<form method="post" action="/sign-out"><button>Sign out</button></form></html>"""
signed_out = """<!doctype html><html lang="en"><title>Authlib</title><link rel="icon" href="data:,">
<h1>You&rsquo;re signed out</h1></html>"""


@app.get("/")
def index():
    visitor = visitors.get(session.get("visitor"))
    if visitor is None:
        return gatehouse.authorize_redirect(url + "/callback")
    return render_template_string(home, **visitor)


@app.get("/callback")
def callback():
    token = gatehouse.authorize_access_token()
    session["visitor"] = secrets.token_urlsafe(32)
    visitors[session["visitor"]] = {"token": token, "user": gatehouse.userinfo(token=token)}
    return redirect("/")


@app.post("/refresh")
def refresh():
    visitor = visitors[session["visitor"]]
    visitor["token"] |= gatehouse.fetch_access_token(
        grant_type="refresh_token", refresh_token=visitor["token"]["refresh_token"]
    )
    return redirect("/")


@app.post("/sign-out")
def sign_out():
    visitor = visitors.pop(session.pop("visitor"))
    return gatehouse.logout_redirect(
        post_logout_redirect_uri=url + "/signed-out", id_token_hint=visitor["token"]["id_token"]
    )


@app.get("/signed-out")
def after_sign_out():
    gatehouse.validate_logout_response()
    return signed_out


app.run(host="127.0.0.1", port=int(os.environ["PORT"]))
