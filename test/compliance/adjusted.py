# Runs scim-sanity, a published test of SCIM servers, with members that exist, which this service demands (federation 8). The program has no option for it.
import uuid

from scim_sanity.cli import main
from scim_sanity.http_client import SCIMClient

patch = SCIMClient.patch


def with_member(self, path, payload, *given, **named):
    for operation in payload.get("Operations", []):
        if operation.get("value") == [{"value": "fake-member-id"}]:
            schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"]
            made = self.post("/Users", {"schemas": schemas, "userName": f"member-{uuid.uuid4().hex}"})
            operation["value"] = [{"value": made.json()["id"]}]
    return patch(self, path, payload, *given, **named)


SCIMClient.patch = with_member
main()
