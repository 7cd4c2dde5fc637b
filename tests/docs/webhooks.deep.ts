// The Go of docs/WEBHOOKS.md. Where Go has compiled nothing yet, that takes half a minute.

import { verifiesIn } from "./verification.ts";

verifiesIn({
  name: "Go",
  fence: "go",
  file: "verify.go",
  command: ["go", "run", "main.go", "verify.go"],
  main: "main.go",
  program: `package main
import ("encoding/json"; "fmt"; "net/http"; "os")
func main() {
	var given struct { Secret string; Deliveries []struct { Body string; Headers map[string]string } }
	text, _ := os.ReadFile("deliveries.json")
	if err := json.Unmarshal(text, &given); err != nil { panic(err) }
	for _, each := range given.Deliveries {
		header := http.Header{}
		for name, value := range each.Headers { header.Set(name, value) }
		fmt.Println(Verify([]byte(each.Body), header, given.Secret))
	}
}`,
});
