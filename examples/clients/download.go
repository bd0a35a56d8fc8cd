// Finds a model, downloads its files by digest and verifies them. Go 1.18 or newer, no modules:
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
	"strings"
)

type model struct {
	Namespace, Name string
	Fits            []struct {
		Constraint, Basis string
		Limit, Value      any
	}
}

type version struct {
	Ref   string
	Files []struct{ Path, Sha256 string }
}

func get(address string) io.ReadCloser {
	request, err := http.NewRequest("GET", address, nil)
	check(err)
	if token := os.Getenv("HF_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	check(err)
	if answer.StatusCode != http.StatusOK {
		var problem struct{ Title, Detail string } // RFC 9457
		check(json.NewDecoder(answer.Body).Decode(&problem))
		log.Fatalf("%s: %s", problem.Title, problem.Detail)
	}
	return answer.Body
}

func decode(address string, value any) {
	body := get(address)
	defer body.Close()
	check(json.NewDecoder(body).Decode(value))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: download HUB WORDS FOLDER")
	}
	hub, words, folder := os.Args[1], os.Args[2], os.Args[3]
	var page struct{ Items []model }
	decode(hub+"/api/v1/models?understand=true&limit=1&q="+url.QueryEscape(words), &page)
	if len(page.Items) == 0 {
		log.Fatalf("No model matches %q.", words)
	}
	var chosen version
	name := page.Items[0].Namespace + "/" + page.Items[0].Name
	decode(hub+"/api/v1/resolve?ref="+url.QueryEscape(name), &chosen)
	fmt.Println(chosen.Ref)
	for _, fit := range page.Items[0].Fits {
		fmt.Printf("%s %v: %v (%s)\n", fit.Constraint, fit.Limit, fit.Value, fit.Basis)
	}
	for _, file := range chosen.Files {
		digest := strings.TrimPrefix(file.Sha256, "sha256:")
		target := filepath.Join(folder, filepath.FromSlash(file.Path))
		check(os.MkdirAll(filepath.Dir(target), 0o755))
		save(hub+"/api/v1/blobs/"+digest, target, digest)
		fmt.Printf("%s  %s\n", digest, file.Path)
	}
}

// save writes a file while it comes, and removes it where its digest is another.
func save(address, target, digest string) {
	body := get(address)
	defer body.Close()
	output, err := os.Create(target)
	check(err)
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(output, hash), body)
	check(err)
	check(output.Close())
	if hex.EncodeToString(hash.Sum(nil)) != digest {
		check(os.Remove(target))
		log.Fatalf("%s is not what the hub names. Download it again.", target)
	}
}
