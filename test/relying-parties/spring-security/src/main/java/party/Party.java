// An application of Spring Boot that signs users in and out with Spring Security.
package party;

import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientProviderBuilder;
import org.springframework.security.oauth2.client.authentication.OAuth2AuthenticationToken;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizedClientRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.csrf.CsrfToken;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.view.RedirectView;
import org.springframework.web.util.HtmlUtils;

@SpringBootApplication
@RestController
public class Party {
  private final OAuth2AuthorizedClientRepository clients;

  Party(OAuth2AuthorizedClientRepository clients) {
    this.clients = clients;
  }

  public static void main(String[] arguments) {
    SpringApplication.run(Party.class, arguments);
  }

  @Bean
  SecurityFilterChain security(HttpSecurity http, ClientRegistrationRepository registrations) throws Exception {
    var signOut = new OidcClientInitiatedLogoutSuccessHandler(registrations);
    signOut.setPostLogoutRedirectUri("{baseUrl}/signed-out");
    return http
        .authorizeHttpRequests(requests -> requests.requestMatchers("/signed-out", "/error").permitAll().anyRequest().authenticated())
        .oauth2Login(Customizer.withDefaults())
        .logout(logout -> logout.logoutSuccessHandler(signOut))
        .oidcLogout(logout -> logout.backChannel(Customizer.withDefaults()))
        .build();
  }

  /** Refreshes tokens long before they expire, so that no request waits for it. */
  @Bean
  OAuth2AuthorizedClientManager clients(
      ClientRegistrationRepository registrations, OAuth2AuthorizedClientRepository clients) {
    var manager = new DefaultOAuth2AuthorizedClientManager(registrations, clients);
    manager.setAuthorizedClientProvider(
        OAuth2AuthorizedClientProviderBuilder.builder()
            .authorizationCode()
            .refreshToken(refresh -> refresh.clockSkew(Duration.ofHours(1)))
            .build());
    return manager;
  }

  @GetMapping("/")
  String home(OAuth2AuthenticationToken authentication, CsrfToken csrf, HttpServletRequest request) {
    var user = (OidcUser) authentication.getPrincipal();
    OAuth2AuthorizedClient client = clients.loadAuthorizedClient("gatehouse", authentication, request);
    return """
        <!doctype html><html lang="en"><title>Spring Security</title><link rel="icon" href="data:,">
        <h1>Signed in as %s</h1>
        <dl><dt>sub</dt><dd id="sub">%s</dd><dt>email</dt><dd id="email">%s</dd>
        <dt>Access token</dt><dd id="access-token">%s</dd></dl>
        <a href="/refresh">Refresh</a>
        <form method="post" action="/logout"><input type="hidden" name="%s" value="%s"><button>Sign out</button></form>
        """
        .formatted(
            HtmlUtils.htmlEscape(user.getFullName()),
            HtmlUtils.htmlEscape(user.getSubject()),
            HtmlUtils.htmlEscape(user.getEmail()),
            HtmlUtils.htmlEscape(client.getAccessToken().getTokenValue()),
            csrf.getParameterName(),
            csrf.getToken());
  }

  @GetMapping("/refresh")
  RedirectView refresh(@RegisteredOAuth2AuthorizedClient("gatehouse") OAuth2AuthorizedClient client) {
    return new RedirectView("/");
  }

  @GetMapping("/signed-out")
  String signedOut() {
    return """
        <!doctype html><html lang="en"><title>Spring Security</title><link rel="icon" href="data:,">
        <h1>You&rsquo;re signed out</h1>
        """;
  }
}
