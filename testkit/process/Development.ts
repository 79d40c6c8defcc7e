// `effect-relayer dev` as a process, and all processes that a start of it can leave.
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Postmaster from "../../src/sql/embedded/Postmaster.ts"
import { isProcessAlive } from "../../src/sql/embedded/Postmaster.ts"
import { folder, isGone, postgresPid, until } from "./Folder.ts"
import * as Service from "./Service.ts"

export interface Place {
  /** The working directory. */
  readonly home: string
  /** The data directory. */
  readonly data: string
  /** The flags that name it. */
  readonly flags: ReadonlyArray<string>
}

interface Running {
  readonly pid: number
  readonly args: ReadonlyArray<string>
}

const argsOf = (pid: string): ReadonlyArray<string> => {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
  } catch {
    return []
  }
}

/** The processes that have the data directory, or a path in it, among their arguments: chains, PostgreSQL, and the service. */
export const processes = ({ data }: Place) =>
  Effect.sync(() =>
    fs
      .readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && isProcessAlive(Number(name)))
      .map((name): Running => ({ pid: Number(name), args: argsOf(name) }))
      .filter(({ args }) => args.some((arg) => arg === data || arg.startsWith(`${data}/`)))
  )

/**
 * A killed service leaves its chains and its PostgreSQL running. PostgreSQL is stopped, because the processes of a killed one still write
 * for a moment, while its folder is removed.
 */
const placeAt = Effect.fnUntraced(function* (name: string, flags: (data: string) => ReadonlyArray<string>) {
  const home = yield* folder
  const data = path.join(home, name)
  const made: Place = { home, data, flags: flags(data) }
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const postgres = yield* postgresPid(data)
      const all = (yield* processes(made)).filter(({ pid }) => pid !== postgres)
      // One of them may end by itself before.
      for (const { pid } of all) yield* Effect.ignore(Effect.try(() => process.kill(pid, "SIGKILL")))
      for (const { pid } of all) yield* until("the end of a killed process", isGone(pid))
      if (postgres !== undefined) yield* Postmaster.stop(postgres)
    })
  )
  return made
})

/** A data directory that is named by a flag. */
export const place = placeAt("dev", (data) => ["--data-dir", data])

/** The data directory without flags. */
export const usualPlace = placeAt("data/dev", () => [])

interface Options {
  readonly flags?: ReadonlyArray<string>
  readonly env?: Record<string, string>
}

const optionsOf = (place: Place, { env = {}, flags = [] }: Options): Service.Options => ({
  folder: place.home,
  // The stand-ins of solana and stellar are part of a clone, not of the package.
  main: Service.sources,
  flags: ["dev", ...place.flags, ...flags],
  env
})

/** Runs it until it fails. */
export const refused = (place: Place, options: Options = {}) => Service.run(optionsOf(place, options))

/** Starts it and waits until it has printed everything. */
export const start = Effect.fnUntraced(function* (place: Place, options: Options = {}) {
  const service = yield* Service.start(optionsOf(place, options))
  const printed = until(
    "the printed instructions",
    Effect.sync(() => (service.stdout().includes("\nThe service runs until Ctrl+C.") ? true : undefined))
  )
  const ended = Effect.flatMap(service.exited, ({ code }) =>
    Effect.die(new Error(`ended with ${code}: ${service.stderr()}${service.stdout()}`))
  )
  yield* Effect.raceFirst(printed, ended)
  const text = service.stdout()
  const found = (pattern: RegExp, within = text) => pattern.exec(within)?.[1] ?? ""
  /** What is printed about the first transaction of a relayer. */
  const sentBy = (relayer: string) => found(new RegExp(`from the relayer ${relayer}:\\n([^]*?)\\n\\n`))
  /** The states of the first transaction, in their order. A line with the same state has another reason. */
  const statesOf = (relayer: string) =>
    [...sentBy(relayer).matchAll(/^ {2}([a-z]+) +\d+\.\d s {2}/gm)]
      .map(([, state]) => state)
      .filter((state, index, all) => state !== all[index - 1])
  const baseUrl = found(/^effect-relayer listens on (http:\S+)/m)
  const key = found(/^ {2}(er_\S+)$/m)
  return {
    ...service,
    text,
    baseUrl,
    key,
    chainUrl: found(/^ {2}chain {4}anvil .* on (http:\S+)$/m),
    address: found(/^ {2}relayer {2}dev-evm, (0x[0-9a-f]{40})$/m),
    states: statesOf("dev-evm"),
    solana: {
      chainUrl: found(/^ {2}chain {4}solana .* on (http:\S+)$/m),
      address: found(/^ {2}relayer {2}dev-solana, (\w+)$/m),
      states: statesOf("dev-solana"),
      signature: found(/^ +signature (\w+)$/m)
    },
    stellar: {
      chainUrl: found(/^ {2}chain {4}stellar .* on (http:\S+)$/m),
      address: found(/^ {2}relayer {2}dev-stellar, (\w+)$/m),
      states: statesOf("dev-stellar"),
      hash: found(/^ +hash ([0-9a-f]{64})$/m)
    },
    hash: found(/^ +hash (0x[0-9a-f]{64})$/m),
    /** A command for each relayer. */
    curls: [...text.matchAll(/^( {2}curl -X POST [^]*?)\n\n/gm)].map(([, curl = ""]) => curl),
    call: (at: string, call: Service.Call = {}) => Service.call(`${baseUrl}${at}`, { key, ...call })
  }
})
