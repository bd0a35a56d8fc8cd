// Finds a model, downloads its files by digest and verifies them. Java 17 or newer, no packages:
//   java Download.java https://hub.example.org "words to search for" folder
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public class Download {
    static final HttpClient CLIENT =
            HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 3) fail("usage: java Download.java HUB WORDS FOLDER");
        String hub = arguments[0];
        Path folder = Path.of(arguments[2]);
        Map<String, Object> page = json(hub + "/api/v1/models?limit=1&q=" + quoted(arguments[1]));
        List<Map<String, Object>> items = rows(page.get("items"));
        if (items.isEmpty()) fail("No model matches \"" + arguments[1] + "\".");
        String ref = items.get(0).get("namespace") + "/" + items.get(0).get("name");
        Map<String, Object> version = json(hub + "/api/v1/resolve?ref=" + quoted(ref));
        System.out.println(version.get("ref"));
        for (Map<String, Object> file : rows(version.get("files"))) {
            String path = (String) file.get("path");
            String digest = ((String) file.get("sha256")).replace("sha256:", "");
            Path target = folder.resolve(path);
            Files.createDirectories(target.getParent());
            MessageDigest hash = MessageDigest.getInstance("SHA-256");
            try (InputStream body = get(hub + "/api/v1/blobs/" + digest)) {
                Files.copy(new DigestInputStream(body, hash), target,
                        java.nio.file.StandardCopyOption.REPLACE_EXISTING);
            }
            if (!HexFormat.of().formatHex(hash.digest()).equals(digest)) {
                Files.delete(target);
                fail(path + " is not what the hub names. Download it again.");
            }
            System.out.println(digest + "  " + path);
        }
    }

    static InputStream get(String address) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address));
        String token = System.getenv("HF_TOKEN");
        if (token != null && !token.isEmpty()) request.header("Authorization", "Bearer " + token);
        HttpResponse<InputStream> answer =
                CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        if (answer.statusCode() != 200) {
            Map<String, Object> problem = new Json(read(answer.body())).object(); // RFC 9457
            fail(problem.get("title") + ": " + problem.get("detail"));
        }
        return answer.body();
    }

    static Map<String, Object> json(String address) throws Exception {
        return new Json(read(get(address))).object();
    }

    static String read(InputStream body) throws Exception {
        return new String(body.readAllBytes(), StandardCharsets.UTF_8);
    }

    static String quoted(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> rows(Object value) {
        return (List<Map<String, Object>>) value;
    }

    static void fail(String message) {
        System.err.println(message);
        System.exit(1);
    }

    /** Reads JSON, for which Java has no class of its own; use a library in your program. */
    static class Json {
        final String text;
        int at = 0;

        Json(String text) {
            this.text = text;
        }

        char next() {
            while (Character.isWhitespace(text.charAt(at))) at++;
            return text.charAt(at);
        }

        Object value() {
            return switch (next()) {
                case '{' -> object();
                case '[' -> list();
                case '"' -> string();
                default -> {
                    int start = at;
                    while (at < text.length() && ",]} \n".indexOf(text.charAt(at)) < 0) at++;
                    yield text.substring(start, at); // a number, true, false or null
                }
            };
        }

        Map<String, Object> object() {
            Map<String, Object> fields = new LinkedHashMap<>();
            next();
            at++;
            while (next() != '}') {
                String name = string();
                next();
                at++; // the colon
                fields.put(name, value());
                if (next() == ',') at++;
            }
            at++;
            return fields;
        }

        List<Object> list() {
            List<Object> values = new ArrayList<>();
            at++;
            while (next() != ']') {
                values.add(value());
                if (next() == ',') at++;
            }
            at++;
            return values;
        }

        String string() {
            StringBuilder made = new StringBuilder();
            next();
            for (at++; text.charAt(at) != '"'; at++) {
                char letter = text.charAt(at);
                if (letter == '\\') {
                    letter = text.charAt(++at);
                    if (letter == 'u') {
                        letter = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                        at += 4;
                    } else if ("bfnrt".indexOf(letter) >= 0) {
                        letter = "\b\f\n\r\t".charAt("bfnrt".indexOf(letter));
                    }
                }
                made.append(letter);
            }
            at++;
            return made.toString();
        }
    }
}
