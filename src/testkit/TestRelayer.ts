// The relayer of the kit: the services that programs send with, over the rules of the service, a ledger in memory and a chain that fails on
// command. It follows the clock of the test.
import { Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { EvmPolicy, SolanaPolicy, StellarPolicy } from "../domain/relayer/Policy.ts"
import { CreateRelayer } from "../domain/relayer/Relayer.ts"
import { Feed, layer as events } from "./Feed.ts"
import { layer as resources, Store } from "./Resources.ts"
import { AnswerFaults, layer as transactions } from "./Sends.ts"
import { Relayers, Signers } from "./Tags.ts"
import { TestChain } from "./TestChain.ts"
import type { TestNetwork } from "./KitNetwork.ts"

interface Options {
  readonly network: TestNetwork
}

interface NewRelayer {
  /** Absent: `test`. */
  readonly id?: string
  /** 32 bytes in hex. Absent: a new key. */
  readonly key?: string
  /** Those of the network type of the chain. Absent on solana: the relayer pays the fees. */
  readonly policies?: EvmPolicy | SolanaPolicy | StellarPolicy
}

const toRequest = Schema.decodeUnknownSync(Schema.toType(CreateRelayer))

export class TestRelayer extends Context.Service<
  TestRelayer,
  {
    /** The next so many sends, replacements or cancels are accepted, and die with `AnswerLost`. */
    loseAnswers(count: number): Effect.Effect<void>
    /** Readers get each event twice, as after a connection that was lost. */
    repeatEvents(areRepeated: boolean): Effect.Effect<void>
    /** Events from now on appear in the feed so much later. */
    delayEvents(by: Duration.Input): Effect.Effect<void>
  }
>()("effect-relayer/testkit/TestRelayer") {
  /**
   * `Transactions`, `Relayers`, `Signers`, `Networks` and `EventFeed` of the package, a `TestChain`, and a `TestClock` that they follow. HTTP,
   * API keys, the audit log, notifications and their deliveries, and leases of lanes do not exist in it.
   */
  static readonly layer = ({ network }: Options) =>
    transactions.pipe(
      Layer.provideMerge(Layer.mergeAll(faults, resources, events)),
      Layer.provide(Layer.mergeAll(Store.layer, Feed.layer, AnswerFaults.layer)),
      Layer.provideMerge(TestChain.layer(network)),
      Layer.provideMerge(TestClock.layer())
    )

  /** Makes a signer and a relayer with it on the chain. Both get the id. */
  static readonly make = Effect.fnUntraced(function* ({ id = "test", key, policies }: NewRelayer = {}) {
    const { kit, network } = yield* TestChain
    const config = key === undefined ? {} : { config: { key: Redacted.make(key) } }
    const signer = yield* (yield* Signers).create({ id, type: "plain", ...config })
    const given = policies ?? kit.policies
    const request = toRequest({
      id,
      name: id,
      network: network.name,
      network_type: network.type,
      paused: false,
      signer_id: signer.id,
      ...(given === undefined ? {} : { policies: given })
    })
    return (yield* (yield* Relayers).create(request)).value
  })
}

const faults = Layer.effect(
  TestRelayer,
  Effect.gen(function* () {
    const { faults: answers } = yield* AnswerFaults
    const { faults: events } = yield* Feed
    return TestRelayer.of({
      loseAnswers: (count) => Effect.sync(() => void (answers.lost = count)),
      repeatEvents: (areRepeated) => Effect.sync(() => void (events.areRepeated = areRepeated)),
      delayEvents: (by) => Effect.sync(() => void (events.delay = Duration.toMillis(by)))
    })
  })
)
