# Runs a published test of SCIM servers with what this service demands of its input: names that are no UUID (security R153), and members that exist
# (federation 8). The first argument names the program, and the others are its own.
import sys
import uuid


def scim2():
    from scim2_cli import cli
    from scim2_tester import filling

    class Name:
        """A random text that is no UUID."""

        def __init__(self):
            self.id = uuid.uuid4()
            self.bytes = self.id.bytes

        def __str__(self):
            return f"n{self.id}"

    class Names:
        uuid4 = Name

    filling.uuid = Names
    cli()


def sanity():
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


program = sys.argv.pop(1)
sys.argv[0] = program
{"scim2": scim2, "scim-sanity": sanity}[program]()
