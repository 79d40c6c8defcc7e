// Bundles the command with the used parts of its dependencies into few files, so that it starts in half the time with half the memory.
// The modules that programs import from the package stay as the compiler wrote them, one file each. The workspace packages/import is a part of the
// command, and has no package of its own: it has the schemas of the version that it is built with.
import * as fs from "node:fs"
import * as path from "node:path"
import { rolldown } from "rolldown"
import { commitOf } from "../src/process/Running.ts"
import { licensesOf } from "./Licenses.ts"

/** Not bundled: loaded only if a signer of the chain, a key service, or Redis is used. */
const external = /^(viem|redis|tiny-secp256k1|@solana|@stellar|@noble|@aws-sdk|google-auth-library)(\/|$)/

const root = path.resolve(import.meta.dirname, "..")
const dist = path.join(root, "dist")

/** A worker thread needs its own file, beside the code that starts it. */
const input = {
  main: path.join(root, "src/main.ts"),
  "command/deriveKey": path.join(root, "src/threads/deriveKey.ts")
}

/** COMMIT: of a build without the repository, such as that of an image. The release sets RELEASE: its version is the whole name. */
const commit = process.env["RELEASE"] === "true" ? "" : process.env["COMMIT"] || commitOf(root) || ""

const bundle = await rolldown({
  input,
  platform: "node",
  external,
  transform: { define: { BUILT_FROM: JSON.stringify(commit) } }
})
const { output } = await bundle.write({ dir: dist, chunkFileNames: "command/[name]-[hash].js" })

const modules = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
fs.writeFileSync(path.join(dist, "command", "LICENSES"), licensesOf(modules))
