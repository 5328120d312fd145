"""Starts `gatehouse dev` once for the tests of a relying party."""

import json
import os
import subprocess

import pytest
import requests


# settings that the application may have for itself: the application may have some of the same names
FOREIGN = ("DATABASE_URL", "BASE_URL", "LOG_LEVEL")


class Gatehouse:
    def __init__(self, config):
        command = [os.environ.get("GATEHOUSE", "gatehouse"), "dev", "--config", config]
        env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        assert line, "gatehouse dev did not start"
        ready = json.loads(line)
        self.issuer, self.clients = ready["issuer"], ready["clients"]

    def _call(self, door, body):
        response = requests.post(f"{self.issuer}/dev/{door}", json=body, timeout=30)
        assert response.ok, response.text
        return response.json()

    def sign_in(self, user, authorization_request, **options):
        """The address at which a browser ends that signs the user in. Options: decision, amr and browser."""
        body = {"user": user, "authorization_request": authorization_request, **options}
        return self._call("sign-in", body)["redirect"]

    def sign_out(self, browser, end_session_request):
        """The address at which a named browser ends that signs its user out."""
        return self._call("sign-out", {"browser": browser, "end_session_request": end_session_request})["redirect"]

    def pass_time(self, seconds):
        """Makes what is stored older: codes, sessions, refresh tokens, opaque access tokens."""
        self._call("time", {"seconds": seconds})

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


@pytest.fixture(scope="session")
def gatehouse():
    provider = Gatehouse(os.environ.get("GATEHOUSE_CONFIG", "gatehouse.yaml"))
    yield provider
    provider.stop()
