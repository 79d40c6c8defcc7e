// Writes openapi.json from the contract. With `--check`, it fails if the file differs from the contract.
import { OpenApi } from "effect/http-api"
import * as fs from "node:fs"
import { Api } from "../src/api/Api.ts"

const file = new URL("../openapi.json", import.meta.url)
const document = `${JSON.stringify(OpenApi.fromApi(Api), null, 2)}\n`

if (process.argv.includes("--check")) {
  if (fs.readFileSync(file, "utf8") !== document) {
    process.stderr.write("openapi.json differs from the contract: run npm run openapi\n")
    process.exitCode = 1
  }
} else {
  fs.writeFileSync(file, document)
}
