// Builds the console into dist/console. `npm ci` and `npm start` print one line if that fails, because the service works without its console.
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const target = fileURLToPath(new URL("../dist/console/", import.meta.url))

const buildOrFail = async () => {
  const { build } = await import("./console/build.ts")
  await build(target)
}

export const buildOrSayWhy = () =>
  buildOrFail().catch((error) => {
    const [reason] = String(error).split("\n")
    process.stderr.write(
      `effect-relayer: the console was not built, and /console will say how to build it: ${reason}\n`
    )
  })

/** `npm start`: after `npm ci --ignore-scripts`, the console is not built yet. */
export const buildIfMissing = async () => {
  if (!existsSync(new URL("../dist/console/index.html", import.meta.url))) await buildOrSayWhy()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildOrFail()
