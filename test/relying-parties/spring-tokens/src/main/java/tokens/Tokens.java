// An API of Spring Boot that exchanges the tokens that it receives, gets tokens by a certificate, and takes tokens that are bound to one.
package tokens;

import java.net.http.HttpClient;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.http.converter.FormHttpMessageConverter;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.AuthorizedClientServiceOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.InMemoryOAuth2AuthorizedClientService;
import org.springframework.security.oauth2.client.OAuth2AuthorizeRequest;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientProviderBuilder;
import org.springframework.security.oauth2.client.TokenExchangeOAuth2AuthorizedClientProvider;
import org.springframework.security.oauth2.client.endpoint.RestClientClientCredentialsTokenResponseClient;
import org.springframework.security.oauth2.client.endpoint.RestClientTokenExchangeTokenResponseClient;
import org.springframework.security.oauth2.client.http.OAuth2ErrorResponseErrorHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.registration.ClientRegistrations;
import org.springframework.security.oauth2.client.registration.InMemoryClientRegistrationRepository;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.core.http.converter.OAuth2AccessTokenResponseHttpMessageConverter;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtTypeValidator;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.util.MultiValueMap;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

@SpringBootApplication
@RestController
public class Tokens {
  private final OAuth2AuthorizedClientManager clients;

  Tokens(OAuth2AuthorizedClientManager clients) {
    this.clients = clients;
  }

  public static void main(String[] arguments) {
    SpringApplication.run(Tokens.class, arguments);
  }

  @Bean
  SecurityFilterChain security(HttpSecurity http) throws Exception {
    return http
        .authorizeHttpRequests(requests -> requests.anyRequest().hasAuthority("SCOPE_notes.read"))
        .oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults()))
        .build();
  }

  /**
   * Takes access tokens of the type at+jwt for this API only, and those that are bound to a certificate over a connection with it (RFC 9068 4, RFC 8705 3).
   */
  @Bean
  JwtDecoder decoder(@Value("${ISSUER}") String issuer, @Value("${RESOURCE}") String resource) {
    var decoder = NimbusJwtDecoder.withIssuerLocation(issuer).validateType(false).build();
    var accessTokens = JwtValidators.createAtJwtValidator().issuer(issuer).audience(resource).build();
    // it adds the check of the certificate, which createAtJwtValidator lacks
    decoder.setJwtValidator(JwtValidators.createDefaultWithValidators(accessTokens, new JwtTypeValidator("at+jwt")));
    return decoder;
  }

  @Bean
  static ClientRegistrationRepository registrations(
      @Value("${ISSUER}") String issuer,
      @Value("${CLIENT_ID}") String id,
      @Value("${CLIENT_SECRET}") String secret,
      @Value("${CERTIFICATE_CLIENT_ID}") String certificateId) {
    var exchange =
        ClientRegistrations.fromIssuerLocation(issuer)
            .registrationId("exchange")
            .clientId(id)
            .clientSecret(secret)
            .authorizationGrantType(AuthorizationGrantType.TOKEN_EXCHANGE)
            .scope("notes.read")
            .build();
    var certificate =
        ClientRegistrations.fromIssuerLocation(issuer)
            .registrationId("certificate")
            .clientId(certificateId)
            .clientAuthenticationMethod(ClientAuthenticationMethod.TLS_CLIENT_AUTH)
            .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
            .scope("notes.read");
    return new InMemoryClientRegistrationRepository(exchange, certificate.tokenUri(aliasOf(exchange)).build());
  }

  /** The address at which the service takes certificates (RFC 8705 5): Spring Security does not read it itself. */
  private static String aliasOf(ClientRegistration registration) {
    var metadata = registration.getProviderDetails().getConfigurationMetadata();
    return (String) ((Map<?, ?>) metadata.get("mtls_endpoint_aliases")).get("token_endpoint");
  }

  @Bean
  static OAuth2AuthorizedClientManager clients(
      ClientRegistrationRepository registrations,
      SslBundles bundles,
      @Value("${RESOURCE}") String own,
      @Value("${TARGET}") String target) {
    var exchanged = new RestClientTokenExchangeTokenResponseClient();
    exchanged.addParametersConverter(request -> MultiValueMap.fromSingleValue(Map.of("resource", target)));
    var exchange = new TokenExchangeOAuth2AuthorizedClientProvider();
    exchange.setAccessTokenResponseClient(exchanged);

    var byCertificate = new RestClientClientCredentialsTokenResponseClient();
    byCertificate.setRestClient(withCertificate(bundles));
    byCertificate.addParametersConverter(request -> MultiValueMap.fromSingleValue(Map.of("resource", own)));

    var manager =
        new AuthorizedClientServiceOAuth2AuthorizedClientManager(
            registrations, new InMemoryOAuth2AuthorizedClientService(registrations));
    manager.setAuthorizedClientProvider(
        OAuth2AuthorizedClientProviderBuilder.builder()
            .provider(exchange)
            .clientCredentials(credentials -> credentials.accessTokenResponseClient(byCertificate))
            .build());
    return manager;
  }

  private static RestClient withCertificate(SslBundles bundles) {
    var client = HttpClient.newBuilder().sslContext(bundles.getBundle("client").createSslContext()).build();
    return RestClient.builder()
        .requestFactory(new JdkClientHttpRequestFactory(client))
        .configureMessageConverters(
            converters ->
                converters
                    .addCustomConverter(new FormHttpMessageConverter())
                    .addCustomConverter(new OAuth2AccessTokenResponseHttpMessageConverter()))
        .defaultStatusHandler(new OAuth2ErrorResponseErrorHandler())
        .build();
  }

  @GetMapping("/exchanged")
  Map<String, String> exchanged(Authentication caller) {
    return Map.of("token", tokenOf("exchange", caller));
  }

  @GetMapping("/by-certificate")
  Map<String, String> byCertificate(Authentication caller) {
    return Map.of("token", tokenOf("certificate", caller));
  }

  private String tokenOf(String registration, Authentication caller) {
    var request = OAuth2AuthorizeRequest.withClientRegistrationId(registration).principal(caller).build();
    return clients.authorize(request).getAccessToken().getTokenValue();
  }

  @GetMapping("/notes")
  Map<String, String> notes(@AuthenticationPrincipal Jwt token) {
    return Map.of("subject", token.getSubject());
  }
}
