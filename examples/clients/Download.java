// Finds a model, shows why it fits, downloads its files by digest and verifies them. Java 17 or newer
// with Gson (com.google.code.gson:gson:2.10 or newer; Debian: libgoogle-gson-java):
//   java -cp gson.jar Download.java https://hub.example.org "image classifier under 20 MB" folder
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.HexFormat;

public class Download {
    static final HttpClient CLIENT =
            HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 3) fail("usage: java -cp gson.jar Download.java HUB QUESTION FOLDER");
        String hub = arguments[0];
        Path folder = Path.of(arguments[2]);
        // The hub reads filters such as a task or a size from the question; the rest is searched for.
        JsonObject page = json(
                hub + "/api/v1/models?understand=true&limit=1&q=" + quoted(arguments[1]));
        if (page.getAsJsonArray("items").isEmpty()) {
            fail("No model matches \"" + arguments[1] + "\".");
        }
        JsonObject model = page.getAsJsonArray("items").get(0).getAsJsonObject();
        String ref = text(model, "namespace") + "/" + text(model, "name");
        JsonObject version = json(hub + "/api/v1/resolve?ref=" + quoted(ref));
        System.out.println(text(version, "ref"));
        if (model.has("fits")) {
            for (JsonElement one : model.getAsJsonArray("fits")) {
                JsonObject fit = one.getAsJsonObject();
                System.out.printf("%s %s: %s (%s)%n", text(fit, "constraint"), text(fit, "limit"),
                        text(fit, "value"), text(fit, "basis"));
            }
        }
        for (JsonElement one : version.getAsJsonArray("files")) {
            JsonObject file = one.getAsJsonObject();
            String path = text(file, "path");
            String digest = text(file, "sha256").replace("sha256:", "");
            save(hub + "/api/v1/blobs/" + digest, folder.resolve(path), digest);
            System.out.println(digest + "  " + path);
        }
    }

    /** Continues an unfinished download; the file gets its name once its digest is right. */
    static void save(String address, Path target, String digest) throws Exception {
        Files.createDirectories(target.toAbsolutePath().getParent());
        Path part = target.resolveSibling(target.getFileName() + ".part");
        long start = Files.exists(part) ? Files.size(part) : 0;
        HttpResponse<InputStream> answer = get(address, start);
        StandardOpenOption mode = answer.statusCode() == 206
                ? StandardOpenOption.APPEND : StandardOpenOption.TRUNCATE_EXISTING;
        // 416: all bytes had arrived already.
        if (answer.statusCode() != 416) {
            try (InputStream body = answer.body();
                    var output = Files.newOutputStream(
                            part, StandardOpenOption.CREATE, StandardOpenOption.WRITE, mode)) {
                body.transferTo(output);
            }
        }
        MessageDigest hash = MessageDigest.getInstance("SHA-256");
        try (InputStream content = new DigestInputStream(Files.newInputStream(part), hash)) {
            content.transferTo(java.io.OutputStream.nullOutputStream());
        }
        if (!HexFormat.of().formatHex(hash.digest()).equals(digest)) {
            Files.delete(part);
            fail(target + " does not have the digest of its version. Download it again.");
        }
        Files.move(part, target, StandardCopyOption.REPLACE_EXISTING);
    }

    static HttpResponse<InputStream> get(String address, long start) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address));
        String token = System.getenv("HF_TOKEN");
        if (token != null && !token.isEmpty()) request.header("Authorization", "Bearer " + token);
        if (start > 0) request.header("Range", "bytes=" + start + "-");
        HttpResponse<InputStream> answer =
                CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        int status = answer.statusCode();
        if (status != 200 && status != 206 && !(status == 416 && start > 0)) {
            JsonObject problem = parse(answer.body()); // RFC 9457
            fail(text(problem, "title") + ": " + text(problem, "detail"));
        }
        return answer;
    }

    static JsonObject json(String address) throws Exception {
        return parse(get(address, 0).body());
    }

    static JsonObject parse(InputStream body) throws Exception {
        return JsonParser.parseString(new String(body.readAllBytes(), StandardCharsets.UTF_8))
                .getAsJsonObject();
    }

    static String text(JsonObject object, String name) {
        JsonElement value = object.get(name);
        return value.isJsonPrimitive() ? value.getAsString() : value.toString();
    }

    static String quoted(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    static void fail(String message) {
        System.err.println(message);
        System.exit(1);
    }
}
