// Copies the version of package.json into the source. `npm version` runs it before it commits.
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")
const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))
const file = path.join(root, "src/api/Version.ts")
const text = fs.readFileSync(file, "utf8")
fs.writeFileSync(file, text.replace(/version = ".*"/, `version = ${JSON.stringify(version)}`))
