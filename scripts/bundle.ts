// Bundles the command with the used parts of its dependencies into few files, so that it starts in half the time with half the memory.
// The modules that programs import from the package stay as the compiler wrote them, one file each.
import * as fs from "node:fs"
import * as path from "node:path"
import { rolldown } from "rolldown"

/** Not bundled: loaded only if a signer of the chain, a key service, or Redis is used. */
const external = /^(viem|redis|tiny-secp256k1|@solana|@stellar|@noble|@aws-sdk|google-auth-library)(\/|$)/

const root = path.resolve(import.meta.dirname, "..")
const dist = path.join(root, "dist")

/** Only the command uses these outputs of the compiler, and it is bundled. */
for (const part of ["cli", "process"]) fs.rmSync(path.join(dist, part), { recursive: true, force: true })
fs.rmSync(path.join(dist, "main.d.ts"), { force: true })

/** A worker thread needs its own file, beside the code that starts it. */
const input = {
  main: path.join(root, "src/main.ts"),
  "command/deriveKey": path.join(root, "src/threads/deriveKey.ts")
}

const bundle = await rolldown({ input, platform: "node", external })
const { output } = await bundle.write({ dir: dist, chunkFileNames: "command/[name]-[hash].js" })

const packages = new Set(
  output
    .flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
    .flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? [])
)
const licenses = [...packages].toSorted().map((folder) => {
  const name = fs.readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
  if (name === undefined) throw new Error(`${folder} has no licence to pass on`)
  return `${path.relative(path.join(root, "node_modules"), folder)}\n\n${fs.readFileSync(path.join(folder, name), "utf8").trim()}\n`
})
fs.writeFileSync(path.join(dist, "command", "LICENSES"), licenses.join("\n---\n\n"))
