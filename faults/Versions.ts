// Two versions on one database: the last one before the baseline, and newer ones. Rehearses both ways of docs/upgrade.md.
import { Duration, Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { baseline, lastReader, migrationsTable } from "../src/sql/migrations/Former.ts"
import * as FormerDatabase from "../testkit/FormerDatabase.ts"
import { folder, until } from "../testkit/process/Folder.ts"
import * as Service from "../testkit/process/Service.ts"
import type { Case, Context } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Load from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as Sql from "./Sql.ts"

const root = path.resolve(import.meta.dirname, "..")

/** What an entry point of an earlier version needs besides the installed packages. */
const parts = ["src", "package.json", "tsconfig.json"]

/** The same of this version, and of those since 0079. */
const ownParts = [...parts, "packages/import"]

/**
 * Commits around the migrations after 0079: the last one without any of them, the one that added 0083, which is compatible, and those that
 * added an incompatible one. 0083 was the first of them.
 */
const commits = {
  last0079: "48b35dea",
  failedDeliveries: "ef29c7ed",
  topUps: "267a2f61",
  authorizations: "8dc4ef41",
  delegations: "2e66d108"
} as const

/** The number of a migration of a version that is newer than all. */
const future = 9999

const git = (...given: ReadonlyArray<string>) => execFileSync("git", given, { cwd: root, maxBuffer: 1e9 })

/** Whether this is a clone, and not a shallow one. */
const isKnown = (commit: string): boolean => {
  try {
    git("rev-parse", "--verify", "--quiet", `${commit}^{commit}`)
    return true
  } catch {
    return false
  }
}

const linkPackages = (place: string) => {
  fs.chmodSync(place, 0o755)
  fs.symlinkSync(path.join(root, "node_modules"), path.join(place, "node_modules"))
  return path.join(place, "src/main.ts")
}

/** The entry point of an earlier version, with the packages of this one. */
const earlier = (commit: string, wanted: ReadonlyArray<string> = parts) =>
  Effect.map(folder, (place) => {
    execFileSync("tar", ["-x", "-C", place], { input: git("archive", commit, ...wanted) })
    return linkPackages(place)
  })

/** The same of a commit whose command imports a package of the repository. */
const recent = (commit: string) => earlier(commit, ownParts)

/** The entry point of this version with one more migration, which does nothing. */
const later = (mark: "compatible" | "incompatible") =>
  Effect.map(folder, (place) => {
    for (const part of ownParts) fs.cpSync(path.join(root, part), path.join(place, part), { recursive: true })
    const index = path.join(place, "src/sql/migrations/index.ts")
    const text = fs.readFileSync(index, "utf8")
    const changed = text
      .replace(
        '"0073_baseline": baseline',
        `"0073_baseline": baseline,\n  "${future}_fault": Migration.make("${mark}", Effect.void)`
      )
      .replace("import type * as Migration from", "import * as Migration from")
    if (changed === text) throw new Error("the list of migrations has another form")
    fs.writeFileSync(index, changed)
    return linkPackages(place)
  })

const ready = (service: Service.Listening) => Effect.map(service.call("/api/v1/ready"), ({ status }) => status)

/** Milliseconds for which each step sends. */
const step = 5000

interface Mains {
  readonly old: string
}

/** This version, and one with one more migration: both send at the same time, and each of them alone before and after the other. */
const compatible = Effect.fnUntraced(function* ({ random, tally }: Context) {
  const newest = yield* later("compatible")
  const { listen } = yield* ExternalPostgres.make
  const node = yield* Node.start
  let services = [yield* listen(Relayers.env)]
  const first = services.slice(0, 1)
  const relayers = yield* Effect.flatMap(Effect.fromNullishOr(first[0]), (service) =>
    Relayers.make(service, node, { count: 4 })
  ).pipe(Effect.orDie)
  const { load, stop } = yield* Load.start({ urls: () => services.map(({ baseUrl }) => baseUrl), relayers, random })
  yield* Effect.sleep(step)

  const newer = yield* listen(Relayers.env, newest)
  tally.add("newer versions started beside an earlier one")
  services = [...first, newer]
  yield* Effect.sleep(step)
  for (const service of services) tally.expect((yield* ready(service)) === 200, "both versions are ready")

  services = [newer]
  for (const service of first) yield* Service.stop(service)
  yield* Effect.sleep(step)

  const back = yield* listen(Relayers.env)
  tally.add("earlier versions started on the newer schema")
  services = [back]
  yield* Service.stop(newer)
  yield* Effect.sleep(step)
  yield* stop
  yield* Verdict.check(tally, node, back, relayers, load)
})

/** A version with an incompatible change is refused beside an earlier one; if the schema changes all the same, the earlier one stops. */
const incompatible = Effect.fnUntraced(function* ({ random, tally }: Context, { old }: Mains) {
  const newest = yield* later("incompatible")
  const { database, listen, refused } = yield* ExternalPostgres.make
  const node = yield* Node.start
  const before = yield* listen(Relayers.env, old)
  let services = [before]
  const relayers = yield* Relayers.make(before, node, { count: 4 })
  const { load, stop } = yield* Load.start({ urls: () => services.map(({ baseUrl }) => baseUrl), relayers, random })
  yield* Effect.sleep(step)

  const start = yield* refused(Relayers.env, newest)
  tally.add("starts refused beside an earlier version")
  tally.expect(
    start.code === 1 && start.stderr.includes("instances of an earlier version are connected"),
    `a start that would change the schema under an earlier version is refused: ${start.code} ${start.stderr}`
  )
  tally.expect((yield* ready(before)) === 200, "the earlier version goes on")

  // Somebody changes the schema by hand.
  yield* Sql.run(
    database,
    `INSERT INTO ${migrationsTable} (migration_id, name) VALUES (${future}, 'fault')`,
    `UPDATE schema_mark SET oldest = ${future}`
  )
  const [noticed] = yield* Effect.timed(
    until(
      "the earlier version to notice the change",
      Effect.map(before.call("/api/v1/signers"), ({ status }) => (status === 503 ? true : undefined)),
      "30 seconds"
    )
  )
  tally.set("seconds until it stopped", Math.ceil(Duration.toSeconds(noticed)))
  tally.expect((yield* ready(before)) === 503, "the earlier version is not ready any more")
  tally.add("earlier versions that stopped")
  const write = yield* before.call("/api/v1/signers", { body: { type: "plain" } })
  tally.expect(write.status === 503, `the earlier version answers 503: ${write.status} ${write.text}`)
  tally.expect(
    before.stdout().includes("a newer version has changed the database: this instance stops writing"),
    "the earlier version says why it stops"
  )
  // It still runs, and holds no lane: the other one sends everything.
  const after = yield* listen(Relayers.env, newest)
  const present = yield* Sql.on(database, FormerDatabase.list)
  tally.expect(
    present.every(([id, name]) => id > baseline || name === "baseline"),
    "the baseline has replaced the migrations of the earlier version"
  )
  services = [before, after]
  yield* Effect.sleep(step)
  yield* stop
  yield* Verdict.check(tally, node, after, relayers, load)

  yield* Service.stop(before)
  const again = yield* refused(Relayers.env, old)
  tally.add("starts refused on a newer schema")
  tally.expect(
    again.code === 1 && again.stderr.includes("start a newer version"),
    `an earlier version does not start on an incompatible schema: ${again.code} ${again.stderr}`
  )
})

/** The schema of a database, as the numbers of its migrations. */
const numbersOf = (database: Parameters<typeof Sql.on>[0]) =>
  Effect.map(Sql.on(database, FormerDatabase.list), (list) => list.map(([number]) => number))

/** 0083 adds times of deliveries: a version with it migrates beside one without it, both send, and each of them alone. */
const added = Effect.fnUntraced(function* ({ random, tally }: Context) {
  const [without, with0083] = [yield* recent(commits.last0079), yield* recent(commits.failedDeliveries)]
  const { database, listen } = yield* ExternalPostgres.make
  const node = yield* Node.start
  const before = yield* listen(Relayers.env, without)
  let services = [before]
  const relayers = yield* Relayers.make(before, node, { count: 4 })
  const { load, stop } = yield* Load.start({ urls: () => services.map(({ baseUrl }) => baseUrl), relayers, random })
  yield* Effect.sleep(step)
  tally.expect(!(yield* numbersOf(database)).includes(83), "the earlier version has a schema without 0083")

  const newer = yield* listen(Relayers.env, with0083)
  tally.add("versions with 0083 started beside one without it")
  tally.expect((yield* numbersOf(database)).includes(83), "the newer version has migrated beside the earlier one")
  services = [before, newer]
  yield* Effect.sleep(step)
  for (const service of services) tally.expect((yield* ready(service)) === 200, "both versions are ready, with 0083")

  services = [newer]
  yield* Service.stop(before)
  yield* Effect.sleep(step)
  const back = yield* listen(Relayers.env, without)
  tally.add("versions without 0083 started on its schema")
  services = [back]
  yield* Service.stop(newer)
  yield* Effect.sleep(step)
  yield* stop
  yield* Verdict.check(tally, node, back, relayers, load)
})

/**
 * 0080, 0081 and 0082 are incompatible: each version that has one of them is refused beside the last version without any, which goes on. When that
 * has stopped, this version migrates, and ends what the earlier one has begun.
 */
const replaced = Effect.fnUntraced(function* ({ random, tally }: Context) {
  const without = yield* recent(commits.last0079)
  const { topUps, authorizations, delegations } = commits
  const newer = [yield* recent(topUps), yield* recent(authorizations), yield* recent(delegations), Service.main]
  const { database, listen, refused } = yield* ExternalPostgres.make
  const node = yield* Node.start
  const before = yield* listen(Relayers.env, without)
  let services = [before]
  const relayers = yield* Relayers.make(before, node, { count: 4 })
  const { load, stop } = yield* Load.start({ urls: () => services.map(({ baseUrl }) => baseUrl), relayers, random })
  const schema = yield* numbersOf(database)
  for (const main of newer) {
    const start = yield* refused(Relayers.env, main)
    tally.add("starts with 0080, 0081 or 0082 refused beside a version without them")
    tally.expect(
      start.code === 1 && start.stderr.includes("instances of an earlier version are connected"),
      `a start that would migrate under the version of schema 79 is refused: ${start.code} ${start.stderr}`
    )
  }
  const same = yield* numbersOf(database)
  tally.expect(
    same.join() === schema.join(),
    `the refused starts have changed nothing: ${schema.join()} ${same.join()}`
  )
  tally.expect((yield* ready(before)) === 200, "the version of schema 79 goes on")

  // The load is answered with errors meanwhile, and sends again.
  yield* Service.stop(before)
  const after = yield* listen(Relayers.env)
  services = [after]
  const numbers = yield* numbersOf(database)
  tally.expect(
    [80, 81, 82, 83].every((number) => numbers.includes(number)),
    `this version has migrated: ${numbers.join()}`
  )
  yield* Effect.sleep(step)
  yield* stop
  yield* Verdict.check(tally, node, after, relayers, load)

  const again = yield* refused(Relayers.env, without)
  tally.add("starts of the version of schema 79 refused")
  tally.expect(
    again.code === 1 && again.stderr.includes("start a newer version"),
    `the version of schema 79 does not start on this schema: ${again.code} ${again.stderr}`
  )
})

export const Versions: Case = {
  name: "versions",
  promise:
    "with compatible migrations both versions go on; with one that is not, the newer is refused, and the older stops writing",
  parts: ["compatible", "incompatible", "0083", "0080 to 0082"],
  run: (context) =>
    Effect.gen(function* () {
      if (![lastReader, ...Object.values(commits)].every(isKnown)) {
        context.tally.skipped = "needs a clone with the history of the project"
        return
      }
      const old = yield* earlier(lastReader)
      context.tally.set("earlier version", lastReader)
      if (context.isChosen("compatible")) yield* Effect.scoped(compatible(context))
      if (context.isChosen("incompatible")) yield* Effect.scoped(incompatible(context, { old }))
      if (context.isChosen("0083")) yield* Effect.scoped(added(context))
      if (context.isChosen("0080 to 0082")) yield* Effect.scoped(replaced(context))
    })
}
