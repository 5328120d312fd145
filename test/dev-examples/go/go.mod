module example

go 1.24

require (
	github.com/coreos/go-oidc/v3 v3.17.0
	golang.org/x/oauth2 v0.34.0
)
