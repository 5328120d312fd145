package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.oauth2.sdk.AuthorizationCodeGrant;
import com.nimbusds.oauth2.sdk.RefreshTokenGrant;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.auth.ClientSecretBasic;
import com.nimbusds.oauth2.sdk.auth.Secret;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.oauth2.sdk.id.State;
import com.nimbusds.oauth2.sdk.pkce.CodeChallengeMethod;
import com.nimbusds.oauth2.sdk.pkce.CodeVerifier;
import com.nimbusds.openid.connect.sdk.AuthenticationErrorResponse;
import com.nimbusds.openid.connect.sdk.AuthenticationRequest;
import com.nimbusds.openid.connect.sdk.AuthenticationResponseParser;
import com.nimbusds.openid.connect.sdk.AuthenticationSuccessResponse;
import com.nimbusds.openid.connect.sdk.Nonce;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponse;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponseParser;
import com.nimbusds.openid.connect.sdk.Prompt;
import com.nimbusds.openid.connect.sdk.UserInfoRequest;
import com.nimbusds.openid.connect.sdk.UserInfoResponse;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The example of docs/dev.md for Java: a relying party with the SDK of Nimbus, and a provider that JUnit starts. */
class SignInTest {
  private static Gatehouse gatehouse;

  @BeforeAll
  static void start() throws Exception {
    gatehouse = new Gatehouse(System.getenv().getOrDefault("GATEHOUSE_CONFIG", "gatehouse.yaml"));
  }

  @AfterAll
  static void stop() throws Exception {
    // null if it has not started
    if (gatehouse != null) gatehouse.close();
  }

  private final CodeVerifier verifier = new CodeVerifier();
  private final State state = new State();

  private static OIDCProviderMetadata provider() throws Exception {
    return OIDCProviderMetadata.resolve(new Issuer(gatehouse.issuer));
  }

  private static URI redirect() {
    return URI.create(((List<?>) gatehouse.client.get("redirect_uris")).get(0).toString());
  }

  private URI request() throws Exception {
    ClientID id = new ClientID(gatehouse.client.getAsString("client_id"));
    return new AuthenticationRequest.Builder(
            ResponseType.CODE, new Scope("openid", "profile", "email", "offline_access"), id, redirect())
        .endpointURI(provider().getAuthorizationEndpointURI())
        .state(state)
        .nonce(new Nonce())
        .prompt(new Prompt(Prompt.Type.CONSENT))
        .codeChallenge(verifier, CodeChallengeMethod.S256)
        .build()
        .toURI();
  }

  @Test
  void aUserSignsIn() throws Exception {
    OIDCProviderMetadata provider = provider();
    ClientID id = new ClientID(gatehouse.client.getAsString("client_id"));
    ClientSecretBasic client = new ClientSecretBasic(id, new Secret(gatehouse.client.getAsString("client_secret")));

    URI callback = gatehouse.signIn("alice", request());
    AuthenticationSuccessResponse success = AuthenticationResponseParser.parse(callback).toSuccessResponse();
    assertEquals(state, success.getState());
    AuthorizationCodeGrant grant = new AuthorizationCodeGrant(success.getAuthorizationCode(), redirect(), verifier);
    OIDCTokenResponse tokens =
        (OIDCTokenResponse)
            OIDCTokenResponseParser.parse(
                    new TokenRequest.Builder(provider.getTokenEndpointURI(), client, grant).build().toHTTPRequest().send())
                .toSuccessResponse();
    UserInfoResponse info =
        UserInfoResponse.parse(
            new UserInfoRequest(provider.getUserInfoEndpointURI(), tokens.getTokens().getAccessToken())
                .toHTTPRequest()
                .send());
    assertTrue(info.indicatesSuccess());
    assertEquals("Alice", info.toSuccessResponse().getUserInfo().getName());

    gatehouse.passTime(31 * 86_400L);
    RefreshTokenGrant refresh = new RefreshTokenGrant(tokens.getTokens().getRefreshToken());
    TokenRequest again = new TokenRequest.Builder(provider.getTokenEndpointURI(), client, refresh).build();
    assertFalse(TokenResponse.parse(again.toHTTPRequest().send()).indicatesSuccess());
  }

  @Test
  void aUserRefuses() throws Exception {
    URI callback = gatehouse.signIn("alice", request(), Map.of("decision", "deny"));
    AuthenticationErrorResponse refused = AuthenticationResponseParser.parse(callback).toErrorResponse();
    assertEquals("access_denied", refused.getErrorObject().getCode());
  }
}
