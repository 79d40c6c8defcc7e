// Writes the digests that the registry has now for the images in deploy/: npm run images. To use another version, change the
// tag in deploy/ first. Needs Docker with buildx, and no daemon.
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as BaseImages from "./BaseImages.ts"

const root = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, ".."))

/** The digest of the multi-platform index, so that the same name is valid on each platform. */
const digestOf = (name: string): string => {
  const format = ["--format", "{{.Manifest.Digest}}"]
  const digest = execFileSync("docker", ["buildx", "imagetools", "inspect", name, ...format], {
    encoding: "utf8"
  }).trim()
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`docker printed no digest of ${name}: ${digest}`)
  return digest
}

for (const name of BaseImages.files) {
  const file = path.join(root, name)
  const before = fs.readFileSync(file, "utf8")
  const after = BaseImages.pinned(before, digestOf)
  if (after !== before) fs.writeFileSync(file, after)
  process.stdout.write(`${name}: ${after === before ? "unchanged" : "new digests"}\n`)
}
