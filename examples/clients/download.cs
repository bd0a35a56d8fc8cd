// Finds a model, downloads its files by digest and verifies them. .NET 10 or newer, no packages:
//   dotnet run download.cs https://hub.example.org "words to search for" folder
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text.Json;

if (args.Length != 3)
{
    Console.Error.WriteLine("usage: dotnet run download.cs HUB WORDS FOLDER");
    return 2;
}
var (hub, words, folder) = (args[0], args[1], args[2]);
using var client = new HttpClient();
if (Environment.GetEnvironmentVariable("HF_TOKEN") is { Length: > 0 } token)
{
    client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
}

async Task<Stream> Get(string path)
{
    var answer = await client.GetAsync(hub + path, HttpCompletionOption.ResponseHeadersRead);
    var body = await answer.Content.ReadAsStreamAsync();
    if (answer.IsSuccessStatusCode) return body;
    var problem = (await JsonDocument.ParseAsync(body)).RootElement; // RFC 9457
    throw new Exception($"{problem.GetProperty("title")}: {problem.GetProperty("detail")}");
}

async Task<JsonElement> Json(string path) => (await JsonDocument.ParseAsync(await Get(path))).RootElement;

try
{
    var page = await Json($"/api/v1/models?limit=1&q={Uri.EscapeDataString(words)}");
    if (page.GetProperty("items").GetArrayLength() == 0) throw new Exception($"No model matches \"{words}\".");
    var model = page.GetProperty("items")[0];
    var name = $"{model.GetProperty("namespace")}/{model.GetProperty("name")}";
    var version = await Json($"/api/v1/resolve?ref={Uri.EscapeDataString(name)}");
    Console.WriteLine(version.GetProperty("ref"));
    foreach (var file in version.GetProperty("files").EnumerateArray())
    {
        var path = file.GetProperty("path").GetString()!;
        var digest = file.GetProperty("sha256").GetString()!.Replace("sha256:", "");
        var target = Path.Combine(folder, path);
        Directory.CreateDirectory(Path.GetDirectoryName(target)!);
        await using (var body = await Get($"/api/v1/blobs/{digest}"))
        await using (var output = File.Create(target))
        {
            await body.CopyToAsync(output);
        }
        await using var written = File.OpenRead(target);
        if (Convert.ToHexStringLower(await SHA256.HashDataAsync(written)) != digest)
        {
            File.Delete(target);
            throw new Exception($"{path} is not what the hub names. Download it again.");
        }
        Console.WriteLine($"{digest}  {path}");
    }
    return 0;
}
catch (Exception error)
{
    Console.Error.WriteLine(error.Message);
    return 1;
}
