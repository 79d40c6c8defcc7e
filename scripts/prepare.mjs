// `npm ci` in a clone: makes what git does not have and editors and the service read, the types of the clients and the console. What fails is
// one line, because the service works without both. It does nothing without the sources, as in an image that installs packages first.
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const writeOrFail = async () => {
  const { writeIfOlder } = await import("./client/write.ts")
  await writeIfOlder()
}

/** Also for `npm start`, after `npm ci --ignore-scripts`. */
export const writeClients = () =>
  writeOrFail().catch((error) => {
    const [reason] = String(error).split("\n")
    process.stderr.write(
      `effect-relayer: the types of the clients were not written, which compilers and editors need: ${reason}\n`
    )
  })

if (process.argv[1] === fileURLToPath(import.meta.url) && existsSync(new URL("../src/", import.meta.url))) {
  await writeClients()
  const console = await import("./console.mjs")
  await console.buildOrSayWhy()
}
