package example;

import com.nimbusds.oauth2.sdk.util.JSONObjectUtils;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.minidev.json.JSONObject;

/** Starts `gatehouse dev` for the tests of a relying party. */
final class Gatehouse implements AutoCloseable {
  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();
  final String issuer;
  final JSONObject client;

  Gatehouse(String config) throws Exception {
    String command = System.getenv().getOrDefault("GATEHOUSE", "gatehouse");
    ProcessBuilder builder = new ProcessBuilder(command, "dev", "--config", config);
    // settings that the application may have for itself: the application may have some of the same names
    List.of("DATABASE_URL", "BASE_URL", "LOG_LEVEL").forEach(builder.environment()::remove);
    process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String line = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
    if (line == null) throw new IOException("gatehouse dev did not start: its reason is on standard error");
    JSONObject ready = JSONObjectUtils.parse(line);
    issuer = JSONObjectUtils.getString(ready, "issuer");
    client = new JSONObject((Map<String, ?>) ((List<?>) ready.get("clients")).get(0));
  }

  /** Calls a door by its name, such as sign-in or device. */
  JSONObject call(String door, Map<String, ?> body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(issuer + "/dev/" + door))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(new JSONObject(body).toJSONString()))
            .build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) throw new IOException(response.body());
    return JSONObjectUtils.parse(response.body());
  }

  /** The address at which a browser ends that signs the user in. */
  URI signIn(String user, URI authorizationRequest) throws Exception {
    return signIn(user, authorizationRequest, Map.of());
  }

  /** @param options decision, amr and browser, each if it is needed */
  URI signIn(String user, URI authorizationRequest, Map<String, ?> options) throws Exception {
    Map<String, Object> body = new HashMap<>(options);
    body.put("user", user);
    body.put("authorization_request", authorizationRequest.toString());
    return URI.create(JSONObjectUtils.getString(call("sign-in", body), "redirect"));
  }

  /** The address at which a named browser ends that signs its user out. */
  URI signOut(String browser, URI endSessionRequest) throws Exception {
    Map<String, String> body = Map.of("browser", browser, "end_session_request", endSessionRequest.toString());
    return URI.create(JSONObjectUtils.getString(call("sign-out", body), "redirect"));
  }

  /** Makes what is stored older: codes, sessions, refresh tokens, opaque access tokens. */
  void passTime(long seconds) throws Exception {
    call("time", Map.of("seconds", seconds));
  }

  @Override
  public void close() throws InterruptedException {
    process.destroy(); // SIGTERM
    process.waitFor();
  }
}
