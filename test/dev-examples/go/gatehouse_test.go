// The example of docs/dev.md for Go: a relying party with go-oidc, and a provider that the test starts.
package example

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
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

func startGatehouse(t *testing.T) *gatehouse {
	t.Helper()
	command := exec.Command(getenv("GATEHOUSE", "gatehouse"), "dev", "--config", getenv("GATEHOUSE_CONFIG", "gatehouse.yaml"))
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatal("gatehouse dev did not start: ", err)
	}
	provider := &gatehouse{}
	if err := json.Unmarshal(line, provider); err != nil {
		t.Fatal(err)
	}
	return provider
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

// signIn returns the address at which a browser ends that signs the user in.
func (g *gatehouse) signIn(t *testing.T, user, request string) *url.URL {
	t.Helper()
	redirect, _ := g.call(t, "sign-in", map[string]any{"user": user, "authorization_request": request})["redirect"].(string)
	callback, err := url.Parse(redirect)
	if err != nil {
		t.Fatal(err)
	}
	return callback
}

func TestAUserSignsIn(t *testing.T) {
	provider := startGatehouse(t)
	shop := provider.Clients[0]
	ctx := context.Background()
	discovered, err := oidc.NewProvider(ctx, provider.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	config := oauth2.Config{
		ClientID: shop.ID, ClientSecret: shop.Secret, RedirectURL: shop.RedirectURIs[0],
		Endpoint: discovered.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess},
	}
	verifier := oauth2.GenerateVerifier()
	request := config.AuthCodeURL("state", oidc.Nonce("nonce"), oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("prompt", "consent"))

	callback := provider.signIn(t, "alice", request)
	token, err := config.Exchange(ctx, callback.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := token.Extra("id_token").(string)
	idToken, err := discovered.Verifier(&oidc.Config{ClientID: shop.ID}).Verify(ctx, raw)
	if err != nil || idToken.Nonce != "nonce" {
		t.Fatal("the ID Token is wrong: ", err)
	}
	info, err := discovered.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil || info.Email != "alice@example.com" {
		t.Fatal("the claims are wrong: ", err, info)
	}

	provider.call(t, "time", map[string]any{"seconds": 31 * 86_400})
	old := &oauth2.Token{RefreshToken: token.RefreshToken}
	if _, err := config.TokenSource(ctx, old).Token(); err == nil {
		t.Fatal("the refresh token has not ended")
	}
}
