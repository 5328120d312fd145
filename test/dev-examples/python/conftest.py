"""Starts `gatehouse dev` once for the tests of a relying party."""

import json
import os
import subprocess

import pytest
import requests


class Gatehouse:
    def __init__(self, config):
        command = [os.environ.get("GATEHOUSE", "gatehouse"), "dev", "--config", config]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, "gatehouse dev did not start"
        ready = json.loads(line)
        self.issuer, self.clients = ready["issuer"], ready["clients"]

    def _call(self, door, body):
        response = requests.post(f"{self.issuer}/dev/{door}", json=body, timeout=30)
        assert response.ok, response.text
        return response.json()

    def sign_in(self, user, authorization_request):
        """The address at which a browser ends that signs the user in."""
        return self._call("sign-in", {"user": user, "authorization_request": authorization_request})["redirect"]

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
