// The example of docs/dev.md for Go: a relying party with go-oidc, and a provider that the test starts.
package example

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

type gatehouse struct {
	Issuer  string `json:"issuer"`
	Clients []struct {
		ID           string   `json:"client_id"`
		Secret       string   `json:"client_secret"`
		RedirectURIs []string `json:"redirect_uris"`
	} `json:"clients"`
}

func getenv(name, usual string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return usual
}

// gatehouseForTests is one provider for all tests of the package.
var gatehouseForTests *gatehouse

func TestMain(m *testing.M) {
	provider, stop, err := startGatehouse()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gatehouse dev did not start:", err)
		os.Exit(1)
	}
	gatehouseForTests = provider
	code := m.Run()
	stop()
	os.Exit(code)
}

func startGatehouse() (*gatehouse, func(), error) {
	command := exec.Command(getenv("GATEHOUSE", "gatehouse"), "dev", "--config", getenv("GATEHOUSE_CONFIG", "gatehouse.yaml"))
	command.Stderr = os.Stderr
	for _, variable := range os.Environ() {
		// settings that the application may have for itself: the application may have some of the same names
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "DATABASE_URL", "BASE_URL", "LOG_LEVEL":
		default:
			command.Env = append(command.Env, variable)
		}
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	}
	provider := &gatehouse{}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, provider)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return provider, stop, nil
}

func (g *gatehouse) call(t *testing.T, door string, body map[string]any) map[string]any {
	t.Helper()
	encoded, _ := json.Marshal(body)
	response, err := http.Post(g.Issuer+"/dev/"+door, "application/json", bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		t.Fatal(string(answer))
	}
	var decoded map[string]any
	if err := json.Unmarshal(answer, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// options are decision, amr and browser, each if it is needed.
type options map[string]any

// signIn returns the address at which a browser ends that signs the user in.
func (g *gatehouse) signIn(t *testing.T, user, request string, more options) *url.URL {
	t.Helper()
	body := map[string]any{"user": user, "authorization_request": request}
	maps.Copy(body, more)
	redirect, _ := g.call(t, "sign-in", body)["redirect"].(string)
	callback, err := url.Parse(redirect)
	if err != nil {
		t.Fatal(err)
	}
	return callback
}

// party returns the relying party of the tests.
func party(t *testing.T) (*oidc.Provider, oauth2.Config) {
	t.Helper()
	shop := gatehouseForTests.Clients[0]
	discovered, err := oidc.NewProvider(context.Background(), gatehouseForTests.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	return discovered, oauth2.Config{
		ClientID: shop.ID, ClientSecret: shop.Secret, RedirectURL: shop.RedirectURIs[0],
		Endpoint: discovered.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess},
	}
}

func request(config oauth2.Config, verifier string) string {
	return config.AuthCodeURL("state", oidc.Nonce("nonce"), oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("prompt", "consent"))
}

func TestAUserSignsIn(t *testing.T) {
	discovered, config := party(t)
	ctx := context.Background()
	verifier := oauth2.GenerateVerifier()

	callback := gatehouseForTests.signIn(t, "alice", request(config, verifier), nil)
	token, err := config.Exchange(ctx, callback.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := token.Extra("id_token").(string)
	idToken, err := discovered.Verifier(&oidc.Config{ClientID: config.ClientID}).Verify(ctx, raw)
	if err != nil || idToken.Nonce != "nonce" {
		t.Fatal("the ID Token is wrong: ", err)
	}
	info, err := discovered.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil || info.Email != "alice@example.com" {
		t.Fatal("the claims are wrong: ", err, info)
	}

	gatehouseForTests.call(t, "time", map[string]any{"seconds": 31 * 86_400})
	old := &oauth2.Token{RefreshToken: token.RefreshToken}
	if _, err := config.TokenSource(ctx, old).Token(); err == nil {
		t.Fatal("the refresh token has not ended")
	}
}

func TestAUserRefuses(t *testing.T) {
	_, config := party(t)
	callback := gatehouseForTests.signIn(t, "alice", request(config, oauth2.GenerateVerifier()), options{"decision": "deny"})
	if answer := callback.Query(); answer.Get("error") != "access_denied" || answer.Get("state") != "state" {
		t.Fatal("the user has not refused: ", callback)
	}
}
