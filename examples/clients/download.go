// Finds a model, downloads its files by digest, continues broken downloads and verifies SHA-256.
// Go 1.18 or newer, no modules; a model's name does in place of words:
//
//	go run download.go https://hub.example.org "words to search for" folder
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

type fit struct {
	Constraint, Basis string
	Limit, Value      any
}

type model struct {
	Namespace, Name string
	Fits            []fit
}

type file struct {
	Path, Sha256 string
	Size         int64
}

type version struct {
	Ref   string
	Files []file
}

// get asks with the token, and for the bytes from start on where the file still has this ETag.
func get(address string, start int64, etag string) *http.Response {
	request, err := http.NewRequest("GET", address, nil)
	check(err)
	if token := os.Getenv("HF_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if start > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", start))
		request.Header.Set("If-Range", etag)
	}
	answer, err := http.DefaultClient.Do(request)
	check(err)
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusPartialContent {
		var problem struct{ Title, Detail string } // RFC 9457: the detail says what to do
		if json.NewDecoder(answer.Body).Decode(&problem) != nil || problem.Title == "" {
			log.Fatalf("The hub answered %d.", answer.StatusCode)
		}
		log.Fatalf("%s: %s", problem.Title, problem.Detail)
	}
	return answer
}

func decode(address string, value any) {
	body := get(address, 0, "").Body
	defer body.Close()
	check(json.NewDecoder(body).Decode(value))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func find(hub, words string) (string, []fit) {
	if regexp.MustCompile(`^[^\s/]+/[^\s/]+$`).MatchString(words) {
		return words, nil
	}
	// The hub reads filters such as a task or a size from the question; the rest is searched for.
	var page struct{ Items []model }
	decode(hub+"/api/v1/models?understand=true&limit=1&q="+url.QueryEscape(words), &page)
	if len(page.Items) == 0 {
		log.Fatalf("No model matches %q.", words)
	}
	return page.Items[0].Namespace + "/" + page.Items[0].Name, page.Items[0].Fits
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: download HUB WORDS FOLDER")
	}
	hub, folder := os.Args[1], os.Args[3]
	name, fits := find(hub, os.Args[2])
	var chosen version
	decode(hub+"/api/v1/resolve?ref="+url.QueryEscape(name), &chosen)
	fmt.Println(chosen.Ref)
	for _, fit := range fits {
		fmt.Printf("%s %v: %v (%s)\n", fit.Constraint, fit.Limit, fit.Value, fit.Basis)
	}
	for _, file := range chosen.Files {
		digest := strings.TrimPrefix(file.Sha256, "sha256:")
		target := filepath.Join(folder, filepath.FromSlash(file.Path))
		check(os.MkdirAll(filepath.Dir(target), 0o755))
		save(hub+"/api/v1/blobs/"+digest, target, digest, file.Size)
		fmt.Printf("%s  %s\n", digest, file.Path)
	}
}

// save continues an unfinished download; the file gets its name once its digest is right.
func save(address, target, digest string, size int64) {
	part := target + ".part"
	start := sizeOf(part)
	if start == 0 || start < size {
		err := receive(address, part, digest, start)
		if count := sizeOf(part); count < size {
			log.Fatalf("The download of %s broke after %d of %d bytes (%v). "+
				"Run the same command again to continue it.", target, count, size, err)
		}
	}
	if digestOf(part) != digest {
		check(os.Remove(part))
		log.Fatalf("%s does not have the digest of its version. Download it again.", target)
	}
	check(os.Rename(part, target))
}

// receive adds the bytes from start on to a partial file, or all of them where the hub sends all;
// it returns why no more came.
func receive(address, part, digest string, start int64) error {
	answer := get(address, start, `"`+digest+`"`) // the ETag of a file is its SHA-256
	defer answer.Body.Close()
	mode := os.O_TRUNC
	if answer.StatusCode == http.StatusPartialContent {
		mode = os.O_APPEND
	}
	output, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|mode, 0o644)
	check(err)
	defer output.Close()
	if _, err = io.Copy(output, answer.Body); err == nil {
		err = io.EOF
	}
	return err
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func digestOf(path string) string {
	content, err := os.Open(path)
	check(err)
	defer content.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, content)
	check(err)
	return hex.EncodeToString(hash.Sum(nil))
}
