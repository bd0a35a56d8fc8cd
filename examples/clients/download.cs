// Finds a model, downloads its files by digest, continues broken downloads and verifies SHA-256.
// .NET 10 or newer, no packages; a model's name does in place of words:
//   dotnet run download.cs https://hub.example.org "words to search for" folder
// Mono 6.8 or newer:
//   mcs -r:System.Net.Http,System.Runtime.Serialization,System.Xml,System.Xml.Linq download.cs
//   mono download.exe https://hub.example.org "words to search for" folder
#pragma warning disable 8600, 8602, 8604
using System;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using System.Xml;
using System.Xml.Linq;

static class Download
{
    static readonly HttpClient Client = new HttpClient { Timeout = System.Threading.Timeout.InfiniteTimeSpan };

    static int Main(string[] args)
    {
        if (args.Length != 3)
        {
            Console.Error.WriteLine("usage: download HUB WORDS FOLDER");
            return 2;
        }
        try
        {
            Run(args[0], args[1], args[2]).GetAwaiter().GetResult();
            return 0;
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }

    static async Task Run(string hub, string words, string folder)
    {
        var name = words;
        var fits = Enumerable.Empty<XElement>();
        if (!Regex.IsMatch(words, @"^[^\s/]+/[^\s/]+$"))
        {
            // The hub reads filters such as a task or a size from the question; the rest is searched for.
            var page = await Json($"{hub}/api/v1/models?understand=true&limit=1&q={Uri.EscapeDataString(words)}");
            var model = page.Element("items").Elements("item").FirstOrDefault();
            if (model == null) throw new Exception($"No model matches \"{words}\".");
            name = $"{Text(model, "namespace")}/{Text(model, "name")}";
            fits = model.Elements("fits").Elements("item");
        }
        var version = await Json($"{hub}/api/v1/resolve?ref={Uri.EscapeDataString(name)}");
        Console.WriteLine(Text(version, "ref"));
        foreach (var fit in fits)
        {
            Console.WriteLine($"{Text(fit, "constraint")} {Text(fit, "limit")}: {Text(fit, "value")} ({Text(fit, "basis")})");
        }
        foreach (var file in version.Element("files").Elements("item"))
        {
            var path = Text(file, "path");
            var digest = Text(file, "sha256").Replace("sha256:", "");
            var size = XmlConvert.ToInt64(Text(file, "size"));
            await Save($"{hub}/api/v1/blobs/{digest}", Path.Combine(folder, path), digest, size);
            Console.WriteLine($"{digest}  {path}");
        }
    }

    // Continues an unfinished download; the file gets its name once its digest is right.
    static async Task Save(string address, string target, string digest, long size)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(Path.GetFullPath(target)));
        var part = target + ".part";
        var start = SizeOf(part);
        if (start == 0 || start < size)
        {
            var cause = "the connection ended";
            using (var answer = await Get(address, start, digest))
            using (var body = await answer.Content.ReadAsStreamAsync())
            using (var output = new FileStream(
                part, answer.StatusCode == HttpStatusCode.PartialContent ? FileMode.Append : FileMode.Create))
            {
                try
                {
                    await body.CopyToAsync(output);
                }
                catch (Exception error) when (error is IOException || error is HttpRequestException)
                {
                    cause = error.Message;
                }
            }
            if (SizeOf(part) < size)
            {
                throw new Exception(
                    $"The download of {target} broke after {SizeOf(part)} of {size} bytes ({cause}). " +
                    "Run the same command again to continue it.");
            }
        }
        string actual;
        using (var hash = SHA256.Create())
        using (var content = File.OpenRead(part))
        {
            actual = BitConverter.ToString(hash.ComputeHash(content)).Replace("-", "").ToLowerInvariant();
        }
        if (actual != digest)
        {
            File.Delete(part);
            throw new Exception($"{target} does not have the digest of its version. Download it again.");
        }
        if (File.Exists(target)) File.Delete(target);
        File.Move(part, target);
    }

    static long SizeOf(string path) => File.Exists(path) ? new FileInfo(path).Length : 0;

    static async Task<HttpResponseMessage> Get(string address, long start = 0, string digest = "")
    {
        var request = new HttpRequestMessage(HttpMethod.Get, address);
        var token = Environment.GetEnvironmentVariable("HF_TOKEN");
        if (!string.IsNullOrEmpty(token)) request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", token);
        if (start > 0)
        {
            request.Headers.Range = new RangeHeaderValue(start, null);
            // The ETag of a file is its SHA-256.
            request.Headers.IfRange = new RangeConditionHeaderValue(new EntityTagHeaderValue($"\"{digest}\""));
        }
        var answer = await Client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        if (answer.IsSuccessStatusCode) return answer;
        XElement problem;
        try
        {
            problem = await Parse(answer); // RFC 9457: the detail says what to do
        }
        catch (XmlException)
        {
            throw new Exception($"The hub answered {(int)answer.StatusCode}.");
        }
        throw new Exception($"{Text(problem, "title")}: {Text(problem, "detail")}");
    }

    static async Task<XElement> Json(string address) => await Parse(await Get(address));

    // JSON as elements; those of a list are called item.
    static async Task<XElement> Parse(HttpResponseMessage answer)
    {
        using (answer)
        {
            var content = await answer.Content.ReadAsByteArrayAsync();
            return XElement.Load(JsonReaderWriterFactory.CreateJsonReader(content, XmlDictionaryReaderQuotas.Max));
        }
    }

    static string Text(XElement element, string name) => (string)element.Element(name);
}
