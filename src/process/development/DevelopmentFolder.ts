// The data directory of `effect-relayer dev`. It has a mark, so that the data of another service is neither used nor removed.
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as DataFiles from "../../sql/embedded/DataFiles.ts"
import * as Durable from "../../sql/embedded/Durable.ts"
import * as Folder from "../../sql/embedded/Folder.ts"
import { DevelopmentFailed } from "./DevelopmentNetwork.ts"

const mark = "development"

const markText = "This folder belongs to effect-relayer dev, which removes all of it with --reset."

const attempt = <A>(folder: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new DevelopmentFailed({
        message: `cannot use the data directory ${folder}: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })

const entriesOf = async (folder: string): Promise<ReadonlyArray<string>> => {
  try {
    return await fs.readdir(folder)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return []
    throw cause
  }
}

/** Creates the folder, or accepts one that an earlier start has created. With `reset`, it is empty afterwards. */
export const open = Effect.fn("DevelopmentFolder.open")(function* (folder: string, reset: boolean) {
  const entries = yield* attempt(folder, () => entriesOf(folder))
  if (entries.length > 0 && !entries.includes(mark)) {
    return yield* new DevelopmentFailed({
      message: `${folder} is not a data directory of effect-relayer dev, and is not used: choose another --data-dir`
    })
  }
  if (reset) {
    // Fails while a service uses the database.
    yield* DataFiles.remove(yield* DataFiles.find(folder))
    yield* attempt(folder, async () => {
      // The mark goes last: a reset that was killed can be repeated.
      for (const name of entries.filter((name) => name !== mark)) {
        await fs.rm(path.join(folder, name), { recursive: true, force: true })
      }
    })
  }
  yield* attempt(folder, async () => {
    await Folder.create(folder, process.getuid?.() === 0 ? 0o711 : 0o700)
    await Durable.add(path.join(folder, mark), markText)
  })
})
