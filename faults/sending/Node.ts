// The chain of the cases about transactions: anvil behind a proxy, with the contract that counts effects. It can be killed.
import { Clock, Effect, Exit, Scope } from "effect"
import * as Anvil from "../../testkit/Anvil.ts"
import * as EvmProxy from "../../testkit/EvmProxy.ts"
import * as World from "../World.ts"
import * as Counter from "./Counter.ts"

/** Seconds between two blocks. */
const blockTime = 1

/** The node answers at the URL of the proxy while it lives. Calls of the harness go to the node itself. */
export const start = Effect.gen(function* () {
  // Time of block 0, so that it has the same hash after each start. The loaded state contains the present time.
  const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const open = Effect.fnUntraced(function* () {
    const scope = yield* Scope.make()
    const anvil = yield* Anvil.start({ timestamp, more: ["--no-mining"] }).pipe(Scope.provide(scope))
    return { anvil, scope }
  })
  let { anvil, scope } = yield* open()
  yield* Effect.addFinalizer(() => Effect.suspend(() => Scope.close(scope, Exit.void)))
  const call = (method: string, params: ReadonlyArray<unknown>) => Effect.suspend(() => anvil.call(method, params))
  const { url, seen, set, clear, lagIndex } = yield* EvmProxy.make(() => anvil.url)
  yield* Counter.install({ call })
  yield* call("evm_setIntervalMining", [blockTime])

  /** SIGKILL, and another start later: blocks and balances are as before, transactions that were in no block are gone. */
  const outage = Effect.fnUntraced(function* (milliseconds: number) {
    yield* call("evm_setIntervalMining", [0])
    const state = yield* call("anvil_dumpState", [true])
    yield* World.signal((yield* World.family(anvil.pid)).toReversed(), "SIGKILL")
    yield* Scope.close(scope, Exit.void)
    yield* Effect.sleep(milliseconds)
    const next = yield* open()
    yield* next.anvil.call("anvil_loadState", [state])
    ;({ anvil, scope } = next)
    yield* call("evm_setIntervalMining", [blockTime])
  })

  return { url, seen, misbehave: set, lagIndex, behave: clear, call, outage }
})

export type Node = Effect.Success<typeof start>
