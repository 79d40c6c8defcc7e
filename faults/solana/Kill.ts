// SIGKILL of the service, its PostgreSQL or both while transactions of solana are sent, and freezes of instances beyond their lease.
import { Effect } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import type { Case, Context } from "../Case.ts"
import * as ExternalPostgres from "../ExternalPostgres.ts"
import * as Instances from "../sending/Instances.ts"
import * as Load from "../sending/Load.ts"
import * as World from "../World.ts"
import * as Chain from "./Chain.ts"
import * as Opening from "./Opening.ts"
import * as Verdict from "./Verdict.ts"

/** The service accepts at least so many requests between two kills, so that each kill can lose some. */
const betweenKills = 5

export const SolanaKill: Case = {
  name: "solana-kill",
  promise:
    "kills while sending: each accepted transaction is confirmed or expired as the chain says, each effect is there once",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const chain = yield* Chain.start(2)
      const listen = world.listen(Opening.env)
      let service = yield* listen
      const relayers = yield* Opening.relayersOn(service, chain)
      const { load, stop } = yield* Load.start({
        urls: () => [service.baseUrl],
        relayers,
        random,
        requestOf: Opening.requestOn(chain)
      })
      for (let kills = 0; kills < amount(80, 3); kills++) {
        const before = load.accepted.length
        yield* until(
          "accepted requests between two kills",
          Effect.sync(() => (load.accepted.length >= before + betweenKills ? true : undefined))
        )
        yield* Effect.sleep(random.int(100, 2500))
        const victims = random.pick(World.victims)
        yield* World.kill(victims, { service: service.pid, postgres: yield* world.postgres })
        if (victims !== "postgres") service = yield* listen
        tally.add(`kills of ${victims}`)
      }
      yield* stop
      yield* Verdict.check(tally, chain, service, load)
    })
}

/** The most finalized blocks that the index of a node lacks. It changes with each block. */
const mostLag = 10

/** Transactions that are accepted, and kills of the service among them. */
const lagSent = { full: 300, short: 12 } as const
const lagKills = { full: 5, short: 1 } as const

export const SolanaIndexLag: Case = {
  name: "solana-index-lag",
  promise:
    "half of the bytes land in the last block that takes them, the indexes of both nodes lag by 1 to 10 blocks, with kills: each is executed once",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const chain = yield* Chain.start(2)
      const listen = world.listen(Opening.env)
      let service = yield* listen
      const relayers = yield* Opening.relayersOn(service, chain)
      const counts = Chain.holdBack(chain, 50)
      const { beforeBlock } = chain
      chain.beforeBlock = () => {
        beforeBlock()
        for (const node of chain.nodes) node.indexLag = random.int(1, mostLag)
      }
      const { load, stop } = yield* Load.start({
        urls: () => [service.baseUrl],
        relayers,
        random,
        requestOf: Opening.requestOn(chain)
      })
      const kills = amount(lagKills.full, lagKills.short)
      const share = amount(lagSent.full, lagSent.short) / (kills + 1)
      for (let kill = 1; kill <= kills + 1; kill++) {
        yield* until(
          "accepted requests",
          Effect.sync(() => (load.accepted.length >= kill * share ? true : undefined)),
          "5 minutes"
        )
        if (kill > kills) break
        yield* World.kill("service", { service: service.pid, postgres: yield* world.postgres })
        service = yield* listen
        tally.add("kills of the service")
      }
      yield* stop
      yield* Verdict.check(tally, chain, service, load)
      tally.set("released in the last block", counts.released)
      tally.expect(counts.released > 0, "bytes are released in the last block")
    })
}

/** Half of the bytes get lost, so that an instance is often in the middle of a refresh when it is frozen. */
const lost = 50

/**
 * The scene for several instances on solana. The check writes its counts to `tally`. `blockMillis`: milliseconds between two blocks. Absent:
 * those of the other cases.
 */
export const scene = (tally: Context["tally"], blockMillis?: number): Instances.Scene => ({
  env: Opening.env,
  open: Effect.fnUntraced(function* (service) {
    const chain = yield* Chain.start(2, undefined, blockMillis)
    chain.cluster.keepsBack = (signature) => Chain.isAmong(lost, signature)
    return {
      relayers: yield* Opening.relayersOn(service, chain, { count: 6 }),
      requestOf: Opening.requestOn(chain),
      check: (read, load) => Effect.asVoid(Verdict.check(tally, chain, read, load))
    }
  })
})

export const SolanaFrozen: Case = {
  name: "solana-frozen",
  promise: "two of three instances hang beyond their lease in the middle of refreshes: each request is executed once",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const { listen } = yield* ExternalPostgres.make
      const freezes = amount(20, 2)
      yield* Instances.run({ random, tally, listen, kills: 0, freezes, lease: 3000, scene: scene(tally) })
    })
}
