// Finds a model, downloads its files by digest, continues broken downloads and verifies SHA-256.
// Java 17 or newer with Gson (com.google.code.gson:gson:2.10 or newer; Debian: libgoogle-gson-java);
// a model's name does in place of words:
//   java -cp gson.jar Download.java https://hub.example.org "words to search for" folder
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.IOException;
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
        if (arguments.length != 3) fail("usage: java -cp gson.jar Download.java HUB WORDS FOLDER");
        String hub = arguments[0];
        Path folder = Path.of(arguments[2]);
        String ref = arguments[1];
        JsonArray fits = new JsonArray();
        if (!ref.matches("[^\\s/]+/[^\\s/]+")) {
            // The hub reads filters such as a task or a size from the question; the rest is searched for.
            JsonObject page = json(hub + "/api/v1/models?understand=true&limit=1&q=" + quoted(ref));
            if (page.getAsJsonArray("items").isEmpty()) fail("No model matches \"" + ref + "\".");
            JsonObject model = page.getAsJsonArray("items").get(0).getAsJsonObject();
            ref = text(model, "namespace") + "/" + text(model, "name");
            if (model.has("fits")) fits = model.getAsJsonArray("fits");
        }
        JsonObject version = json(hub + "/api/v1/resolve?ref=" + quoted(ref));
        System.out.println(text(version, "ref"));
        for (JsonElement one : fits) {
            JsonObject fit = one.getAsJsonObject();
            System.out.printf("%s %s: %s (%s)%n", text(fit, "constraint"), text(fit, "limit"),
                    text(fit, "value"), text(fit, "basis"));
        }
        for (JsonElement one : version.getAsJsonArray("files")) {
            JsonObject file = one.getAsJsonObject();
            String path = text(file, "path");
            String digest = text(file, "sha256").replace("sha256:", "");
            long size = file.get("size").getAsLong();
            save(hub + "/api/v1/blobs/" + digest, folder.resolve(path), digest, size);
            System.out.println(digest + "  " + path);
        }
    }

    /** Continues an unfinished download; the file gets its name once its digest is right. */
    static void save(String address, Path target, String digest, long size) throws Exception {
        Files.createDirectories(target.toAbsolutePath().getParent());
        Path part = target.resolveSibling(target.getFileName() + ".part");
        long start = Files.exists(part) ? Files.size(part) : 0;
        if (start == 0 || start < size) {
            String cause = receive(address, part, digest, start);
            if (Files.size(part) < size) {
                fail("The download of " + target + " broke after " + Files.size(part) + " of " + size
                        + " bytes (" + cause + "). Run the same command again to continue it.");
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

    /**
     * Adds the bytes from `start` on to a partial file, or all of them where the hub sends all;
     * returns why no more came.
     */
    static String receive(String address, Path part, String digest, long start) throws Exception {
        HttpResponse<InputStream> answer = get(address, start, digest);
        StandardOpenOption mode = answer.statusCode() == 206
                ? StandardOpenOption.APPEND : StandardOpenOption.TRUNCATE_EXISTING;
        try (InputStream body = answer.body();
                var output = Files.newOutputStream(
                        part, StandardOpenOption.CREATE, StandardOpenOption.WRITE, mode)) {
            body.transferTo(output);
            return "the connection ended";
        } catch (IOException error) {
            return error.getMessage();
        }
    }

    static HttpResponse<InputStream> get(String address, long start, String digest) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address));
        String token = System.getenv("HF_TOKEN");
        if (token != null && !token.isEmpty()) request.header("Authorization", "Bearer " + token);
        if (start > 0) {
            // The ETag of a file is its SHA-256.
            request.header("Range", "bytes=" + start + "-").header("If-Range", '"' + digest + '"');
        }
        HttpResponse<InputStream> answer =
                CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        if (answer.statusCode() != 200 && answer.statusCode() != 206) fail(problem(answer));
        return answer;
    }

    /** The problem document of RFC 9457; its detail says what to do. */
    static String problem(HttpResponse<InputStream> answer) throws Exception {
        try {
            JsonObject problem = parse(answer.body());
            return text(problem, "title") + ": " + text(problem, "detail");
        } catch (JsonParseException | IllegalStateException | NullPointerException error) {
            return "The hub answered " + answer.statusCode() + ".";
        }
    }

    static JsonObject json(String address) throws Exception {
        return parse(get(address, 0, "").body());
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
