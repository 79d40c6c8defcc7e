// Writes what is derived from the contract: openapi.json, relayers.schema.json, and the types of the clients with the same descriptions. With `--check`, it
// writes nothing, and fails if one of the first two, which are in git, differs from the contract.
import { OpenApi } from "effect/http-api"
import * as fs from "node:fs"
import { Api } from "../src/api/Api.ts"
import * as ConfigurationFile from "../src/api/document/ConfigurationFile.ts"
import { writeIfOlder } from "./client/write.ts"

const files = {
  "openapi.json": `${JSON.stringify(OpenApi.fromApi(Api), null, 2)}\n`,
  "relayers.schema.json": `${JSON.stringify(ConfigurationFile.document(), null, 2)}\n`
}

const isCheck = process.argv.includes("--check")

for (const [name, text] of Object.entries(files)) {
  const file = new URL(`../${name}`, import.meta.url)
  if (!isCheck) fs.writeFileSync(file, text)
  else if (fs.readFileSync(file, "utf8") !== text) {
    process.stderr.write(`${name} differs from the contract: run npm run openapi\n`)
    process.exitCode = 1
  }
}
if (!isCheck) await writeIfOlder()
