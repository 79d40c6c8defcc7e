// The key service of signers is silent, throttles, and ends and comes back, while transactions are sent. Before that, bursts by
// signers with a local key and by signers of the key service are compared.
import { Effect } from "effect"
import { until } from "../testkit/process/Folder.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Case, Tally } from "./Case.ts"
import * as Kms from "./sending/Kms.ts"
import * as Load from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import type { Relayer } from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as World from "./World.ts"

/** Relayers of a burst, and transactions of each. */
const lanes = 20
const ofEach = 50

/** Requests of a burst at the same time. */
const concurrency = 32

/** Milliseconds of the silence, of the other faults, and before the first of them. */
const silence = 30_000
const lasts = 12_000
const works = 4000

/** Signers are asked again after a pause of up to a minute. */
const patience = "2 minutes"

/** Slots of the counter: bursts and the load have different ones. */
const slotsOfBurst = 10_000

interface Burst {
  readonly name: string
  readonly relayers: ReadonlyArray<Relayer>
  readonly firstSlot: number
}

/** Transactions per second from the first request to the last confirmation. */
const burst = Effect.fnUntraced(function* (
  tally: Tally,
  node: Node.Node,
  service: Listening,
  { name, relayers, firstSlot }: Burst
) {
  const order = Array.from({ length: ofEach }, () => relayers).flat()
  const began = performance.now()
  const sent = yield* Effect.forEach(order, (relayer, index) => Load.send(service, relayer, firstSlot + index), {
    concurrency
  })
  yield* Verdict.settled(service)
  const perSecond = (order.length * 1000) / (performance.now() - began)
  yield* Verdict.checkEffects(tally, node, sent)
  tally.set(`confirmed per second with ${name}`, Math.round(perSecond))
  return perSecond
})

const signerCodes = new Set<string | undefined>(["signer_unavailable", "throttled"])

/** Waits until open transactions say that they wait for the signer, with this code. */
const waiting = Effect.fnUntraced(function* (tally: Tally, service: Listening, code: string) {
  const rows = Effect.map(Verdict.openIn(service), (open = []) => open.filter((row) => row.code === code))
  const shown = Effect.map(rows, ({ length }) => (length === 0 ? undefined : length))
  tally.add(`waiting with ${code}`, yield* until(`transactions with ${code}`, shown, patience))
})

/** Waits until no transaction waits for the signer. */
const recovered = (service: Listening) =>
  until(
    "signatures",
    Effect.map(Verdict.openIn(service), (open) =>
      open?.every(({ code }) => !signerCodes.has(code)) === true ? true : undefined
    ),
    patience
  )

export const RelayKms: Case = {
  name: "relay-kms",
  promise: "a key service that is silent, throttles or is away: all are confirmed, each effect happens once, no holes",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Node.start
      const kms = yield* Kms.start
      const service = yield* world.listen({ ...Relayers.env, ...kms.env })
      const { signer } = kms
      const local = yield* Relayers.make(service, node, { count: lanes })
      const remote = yield* Relayers.add(service, node, { count: lanes, signer })
      const fast = yield* burst(tally, node, service, { name: "local keys", relayers: local, firstSlot: 0 })
      const firstSlot = slotsOfBurst
      const slow = yield* burst(tally, node, service, { name: "aws_kms", relayers: remote, firstSlot })
      tally.set("ratio", (slow / fast).toFixed(2))

      const relayers = yield* Relayers.add(service, node, { count: 4, signer })
      const urls = () => [service.baseUrl]
      const { load, stop } = yield* Load.start({ urls, relayers, random, firstSlot: 2 * slotsOfBurst })
      yield* Effect.sleep(works)
      yield* kms.set("is silent")
      yield* Effect.sleep(silence)
      yield* waiting(tally, service, "signer_unavailable")
      yield* kms.set("works")
      yield* recovered(service)
      yield* kms.set("throttles")
      yield* Effect.sleep(lasts)
      yield* waiting(tally, service, "throttled")
      yield* kms.set("works")
      yield* recovered(service)
      yield* kms.outage(lasts)
      yield* recovered(service)
      yield* stop
      yield* Verdict.check(tally, node, service, relayers, load)
      tally.set("signatures", kms.signatures())
    })
}
