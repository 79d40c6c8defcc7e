// Reads the built files of the console: `npm run console` and the package put them into `dist/console`.
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import type { ConsoleFile, ConsoleFiles } from "../server/console/ConsolePages.ts"

/** The same folder from `src/process` and from `dist/process`. */
const built = fileURLToPath(new URL("../../dist/console", import.meta.url))

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png"
}

/** The same file, compressed, is beside it. */
const compressed = ".br"

const readFile = async (folder: string, name: string, names: ReadonlyArray<string>): Promise<ConsoleFile> => ({
  body: await fs.readFile(path.join(folder, name)),
  contentType: contentTypes[path.extname(name)] ?? "text/plain; charset=utf-8",
  ...(names.includes(name + compressed) ? { brotli: await fs.readFile(path.join(folder, name + compressed)) } : {})
})

/** Empty if there is no such folder. */
export const read = (folder = built): Effect.Effect<ConsoleFiles> =>
  Effect.promise(async () => {
    const names = await fs.readdir(folder).catch((): Array<string> => [])
    const files = new Map<string, ConsoleFile>()
    for (const name of names.filter((name) => !name.endsWith(compressed))) {
      files.set(name, await readFile(folder, name, names))
    }
    return files
  })
