// An API of Spring Boot that takes JWT access tokens, bound by DPoP or not, with Spring Security.
package api;

import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
public class Api {
  public static void main(String[] arguments) {
    SpringApplication.run(Api.class, arguments);
  }

  @Bean
  SecurityFilterChain security(HttpSecurity http) throws Exception {
    return http
        .authorizeHttpRequests(requests -> requests.anyRequest().hasAuthority("SCOPE_notes.read"))
        .oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults()).dPoP(Customizer.withDefaults()))
        .build();
  }

  /** Takes access tokens of the type at+jwt for this API only (RFC 9068 4). */
  @Bean
  JwtDecoder decoder(@Value("${ISSUER}") String issuer, @Value("${RESOURCE}") String resource) {
    var decoder = NimbusJwtDecoder.withIssuerLocation(issuer).validateType(false).build();
    decoder.setJwtValidator(JwtValidators.createAtJwtValidator().issuer(issuer).audience(resource).build());
    return decoder;
  }

  @GetMapping("/notes")
  Map<String, String> notes(@AuthenticationPrincipal Jwt token) {
    return Map.of("subject", token.getSubject());
  }
}
