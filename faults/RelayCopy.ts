// The data directory is put back from a copy that was made at a random moment: the ledger has forgotten what happened since,
// and its mark does not differ. The chain is reorganised meanwhile, and some lanes were never polled when they were copied.
import { Array, Clock, DateTime, Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { until } from "../testkit/process/Folder.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import type { Random } from "./Random.ts"
import * as Counter from "./sending/Counter.ts"
import * as Load from "./sending/Load.ts"
import type { Accepted } from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as World from "./World.ts"

const copies = 30
const shortCopies = 3

/** Blocks. Reorganisations are less deep. */
const confirmations = 3

/** Transactions that are sent before a copy, and after it, at most. */
const atMost = { before: 4, after: 4 } as const

/** Milliseconds: a delay of a request, and the longest time from its acceptance to the copy. */
const delays = [1000, 2500] as const
const longestWait = 1500

type Home = Effect.Success<typeof World.make>
type Chain = Effect.Success<typeof Node.start>

const run = (program: string, ...args: ReadonlyArray<string>): void => {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`)
}

/** What is beside the files of PostgreSQL in the data directory. */
const others = (folder: string) => fs.readdirSync(folder).filter((name) => name !== "postgres")

const filesOf = ({ dataDir }: Home) => fs.realpathSync(path.join(dataDir, "postgres"))

/** PostgreSQL stands still meanwhile, so the files are those that a crash at this moment would leave. */
export const copyTo = Effect.fnUntraced(function* (world: Home, folder: string) {
  const server = yield* world.postgres
  yield* World.signal([server], "SIGSTOP")
  const all = yield* World.family(server)
  yield* World.signal(all, "SIGSTOP")
  yield* Effect.sync(() => {
    fs.mkdirSync(folder)
    for (const name of others(world.dataDir)) run("cp", "-a", path.join(world.dataDir, name), folder)
    run("cp", "-a", filesOf(world), path.join(folder, "postgres"))
  }).pipe(Effect.ensuring(World.signal(all.toReversed(), "SIGCONT")))
})

export const putBack = (world: Home, folder: string) =>
  Effect.sync(() => {
    const files = filesOf(world)
    for (const name of others(world.dataDir)) run("rm", "-rf", path.join(world.dataDir, name))
    for (const name of others(folder)) run("cp", "-a", path.join(folder, name), world.dataDir)
    for (const name of fs.readdirSync(files)) run("rm", "-rf", path.join(files, name))
    run("cp", "-a", `${path.join(folder, "postgres")}/.`, files)
    run("rm", "-rf", folder)
  })

export const kill = Effect.fnUntraced(function* (world: Home, service: Listening) {
  const pids = [service.pid, ...(yield* World.family(yield* world.postgres))]
  yield* World.signal(pids, "SIGKILL")
  yield* service.exited
  for (const pid of pids.slice(1)) yield* World.gone(pid)
})

/** Some requests have a later turn, or an earlier one than their predecessors: after the copy their order can be another one. */
const orderOf = Effect.fnUntraced(function* (random: Random) {
  const kind = random.pick(["usual", "usual", "late", "urgent"])
  if (kind === "late") {
    const at = DateTime.makeUnsafe((yield* Clock.currentTimeMillis) + random.pick(delays))
    return { not_before: DateTime.formatIso(at) }
  }
  return kind === "urgent" ? { priority: 1 } : {}
})

/** Open transactions, once each of them is as `isExpected` says. */
export const opened = (service: Listening, what: string, isExpected: (row: Verdict.Shown) => boolean) =>
  until(
    what,
    Effect.map(Verdict.openIn(service), (rows) => (rows?.every(isExpected) === true ? rows : undefined)),
    "2 minutes"
  )

export const waitsForOperator = ({ status, code }: Verdict.Shown): boolean =>
  status === "pending" && code === "restored_unproven"

/** True answers: what was executed is given up, and the rest is sent. */
const answerAll = Effect.fnUntraced(function* (
  service: Listening,
  node: Chain,
  rows: ReadonlyArray<Verdict.Shown>,
  slotOf: (id: string) => number | undefined
) {
  const slots = rows.map(({ id }) => slotOf(id) ?? -1)
  const counts = yield* Counter.read(node, slots)
  for (const [index, { id, relayer_id }] of rows.entries()) {
    const body = { answer: counts[index] === 0 ? "send" : "give_up", transaction_id: id }
    const { status, text } = yield* service.call(`/api/v1/relayers/${relayer_id}/nonce/resync`, { body })
    if (status !== 200) return yield* Effect.die(new Error(`${status} ${text}`))
  }
})

/** The same height, with other blocks that are empty: the transactions in them are sent again. */
const reorganise = Effect.fnUntraced(function* (node: Chain, random: Random) {
  const height = Number(yield* node.call("eth_blockNumber", []))
  yield* node.call("anvil_reorg", [Math.min(random.int(1, confirmations - 1), height), []])
})

export const RelayCopy: Case = {
  name: "relay-copy",
  promise: "a data directory put back from a copy: each effect happens once, or the request waits for an operator",
  isShort: true,
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Node.start
      const listen = world.listen({ ...Relayers.env, HEALTH_CHECK_INTERVAL_MS: "1000" })
      let service = yield* listen
      const polled = yield* Relayers.make(service, node, {
        count: 2,
        network: { required_confirmations: confirmations }
      })
      const sent: Array<Accepted> = []
      const slots = new Map<string, number>()

      const sendSome = Effect.fnUntraced(function* (relayers: ReadonlyArray<Relayers.Relayer>, count: number) {
        for (const relayer of relayers) {
          for (let one = 0; one < count; one++) {
            const accepted = yield* Load.send(service, relayer, sent.length, yield* orderOf(random))
            sent.push(accepted)
            slots.set(accepted.id, accepted.slot)
            open.push(accepted.slot)
          }
        }
      })

      /** Slots that the chain has not counted yet. */
      let open: Array<number> = []
      /**
       * All that was sent is in blocks that last. The service may show a block that a reorganisation has just replaced, so the chain
       * is asked.
       */
      const executed = until(
        "blocks with all that was sent",
        Effect.map(
          Effect.suspend(() => Counter.read(node, open)),
          (counts) => {
            open = open.filter((_, index) => counts[index] === 0)
            return open.length === 0 ? true : undefined
          }
        ),
        "2 minutes"
      )

      for (let copy = 0; copy < amount(copies, shortCopies); copy++) {
        const isNew = random.pick([true, false])
        // A new lane is not polled before the copy, because its provider does not answer.
        if (isNew) node.misbehave("*", { do: "drop" })
        const relayers = isNew ? yield* Relayers.add(service, node, { count: 1 }) : polled
        // Funds are given outside of blocks, so a reorganisation below this height would take them back.
        yield* node.call("anvil_mine", [`0x${confirmations.toString(16)}`])
        yield* sendSome(relayers, random.int(1, atMost.before))
        yield* Effect.sleep(random.int(0, longestWait))
        const folder = path.join(world.home, `copy-${copy}`)
        yield* copyTo(world, folder)
        node.behave()
        yield* sendSome(relayers, random.int(0, atMost.after))
        const isReorganised = random.pick([true, false])
        if (isReorganised) {
          yield* Effect.sleep(random.int(500, 3000))
          yield* reorganise(node, random)
        }
        yield* executed
        yield* kill(world, service)
        yield* putBack(world, folder)
        service = yield* listen
        const waiting = yield* opened(service, "the end of all that is not for an operator", waitsForOperator)
        const effects = yield* Counter.read(
          node,
          Array.makeBy(sent.length, (slot) => slot)
        )
        const twice = effects.findIndex((count) => count > 1)
        tally.expect(twice === -1, `copy ${copy}: no effect happens twice: that of slot ${twice} does`)
        yield* answerAll(service, node, waiting, (id) => slots.get(id))
        tally.add("copies")
        tally.add("copies of lanes that were never polled", isNew ? 1 : 0)
        tally.add("reorganisations", isReorganised ? 1 : 0)
        tally.add("waited for an operator", waiting.length)
        if (tally.broken.length > 0) return
      }
      yield* Verdict.settled(service)
      tally.set("sent", sent.length)
      const final = yield* Counter.read(
        node,
        Array.makeBy(sent.length, (slot) => slot)
      )
      for (const [slot, count] of final.entries()) {
        const one = sent[slot]
        if (count === 1 || one === undefined) continue
        const { text } = yield* service.call(`/api/v1/relayers/${one.relayer.id}/transactions/${one.id}`)
        tally.expect(false, `the effect of slot ${slot} happens ${count} times: ${text}`)
      }
    })
}
