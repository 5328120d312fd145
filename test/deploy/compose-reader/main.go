// Reads a compose file as docker compose does, and prints the project as JSON, or what is wrong.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithOsEnv, cli.WithName("check"))
	if err == nil {
		if project, failure := options.LoadProject(context.Background()); failure == nil {
			text, _ := project.MarshalJSON()
			_, _ = os.Stdout.Write(text)
			return
		} else {
			err = failure
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
