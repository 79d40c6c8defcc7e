// Puts the command and what it uses of its dependencies into few files: it starts in half the time, and takes half the
// memory. What a program imports from the package stays as the compiler has written it.
import * as fs from "node:fs"
import * as path from "node:path"
import { rolldown } from "rolldown"

/** Loaded where a signer of their chain, or a Redis, is in use, and left to npm. */
const external = /^(viem|redis|@solana|@stellar|@noble)(\/|$)/

const root = path.resolve(import.meta.dirname, "..")
const dist = path.join(root, "dist")

/** Written by the compiler, and part of nothing but the command. */
for (const part of ["cli", "process"]) fs.rmSync(path.join(dist, part), { recursive: true, force: true })
fs.rmSync(path.join(dist, "main.d.ts"), { force: true })

/** The thread is a file of its own, beside the code that starts it. */
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
