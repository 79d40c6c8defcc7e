// Starts the contenders for each number of relayers: the service, another version of it, Fastify on the same database, and
// the limit of Node.
import { Console, Effect, Option } from "effect"
import * as Client from "./Client.ts"
import * as Consoles from "./Consoles.ts"
import * as Contenders from "./Contenders.ts"
import * as Installation from "./Installation.ts"
import type { Target } from "./Measure.ts"
import * as Pgbench from "./Pgbench.ts"

interface Options {
  readonly sizes: ReadonlyArray<number>
  /** The chosen contenders. */
  readonly given: Option.Option<ReadonlyArray<string>>
  /** The folder of the other version. */
  readonly against: string | undefined
  /** Number of overviews of the console that are open beside the contender `consoles`. 0: no such contender. */
  readonly consoles: number
}

/** All contenders on a database must send the same responses. */
const agree = Effect.fnUntraced(function* (targets: ReadonlyArray<Target>) {
  for (const { installation } of targets.slice(0, 1)) {
    const servers = targets.map(({ server }) => server)
    yield* Client.compare(servers, "/api/v1/relayers?per_page=10")
    yield* Client.compare(servers, `/api/v1/relayers/${Client.firstId(installation.ids)}`)
  }
})

const ofSize = Effect.fnUntraced(function* (size: number, { given, against, consoles }: Options) {
  const installation = yield* Installation.make({ size, contender: "service", checkout: Installation.root })
  const targets: Array<Target> = [{ server: installation.service, installation }]
  if (consoles > 0) {
    const { service } = installation
    const sessions = yield* Consoles.signedIn(service, consoles)
    targets.push({ server: { ...service, contender: Consoles.contender }, installation, consoles: sessions })
  }
  if (against !== undefined) {
    const other = yield* Installation.make({ size, contender: "before", checkout: against })
    targets.push({ server: other.service, installation: other })
  }
  if (takesPart(given, "fastify")) targets.push({ server: yield* Contenders.fastify(installation), installation })
  yield* agree(targets)
  yield* Console.log(
    `${size.toLocaleString("en")} relayers: ${targets.map(({ server }) => server.contender).join(", ")}`
  )
  return targets
})

const takesPart = (given: Options["given"], contender: string) =>
  Option.match(given, { onNone: () => true, onSome: (names) => names.includes(contender) })

/** Contenders that only run at the first size. */
const others = Effect.fnUntraced(function* (installation: Installation.Installation, { given }: Options) {
  const targets: Array<Target> = []
  const skipped: Array<string> = []
  if (takesPart(given, "limit")) targets.push({ server: yield* Contenders.limit(installation), installation })
  if (takesPart(given, Pgbench.contender)) {
    const pgbench = Pgbench.target(installation)
    if (pgbench === undefined) skipped.push("pgbench, which is not installed")
    else targets.push(pgbench)
  }
  return { targets, skipped }
})

/** All contenders, and those that were skipped, with the reason. */
export const make = Effect.fnUntraced(function* (options: Options) {
  const targets = (yield* Effect.forEach(options.sizes, (size) => ofSize(size, options))).flat()
  const [first] = targets
  if (first === undefined) return { targets, skipped: [] }
  const more = yield* others(first.installation, options)
  return { targets: [...targets, ...more.targets], skipped: more.skipped }
})
