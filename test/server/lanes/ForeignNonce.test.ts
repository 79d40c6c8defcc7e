// Another program signs with the key of a relayer, and its transaction uses the nonce of one that is on its way.
// Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { privateKeyToAccount } from "viem/accounts"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { attemptNonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as EvmProxy from "../../../testkit/EvmProxy.ts"
import { accept, api, becomes, key, receiver, relayerAt } from "./fixtures.ts"

const gwei = 10n ** 9n

/** A transaction at nonce 0 that the service believes to be sent, and a foreign one with that nonce in a deep block. */
const taken = Effect.fnUntraced(function* (over: { readonly requiredSequence?: bigint } = {}) {
  const node = yield* Anvil.start({ more: ["--no-mining"] })
  const proxy = yield* EvmProxy.make(node.url)
  const config = { key: key() }
  const signer = { id: config.key.slice(0, 32), type: "plain", config }
  const account = yield* relayerAt(node, { urls: [proxy.url], signer })
  proxy.set("eth_sendRawTransaction", { do: "lie", result: () => `0x${"11".repeat(32)}` })
  const [id] = yield* accept(account, 1, over)
  yield* becomes(id, "submitted")
  const foreign = yield* Effect.promise(() =>
    privateKeyToAccount(`0x${config.key}`).signTransaction({
      type: "eip1559",
      chainId: 31_337,
      nonce: 0,
      to: receiver,
      value: 99n,
      gas: 21_000n,
      maxFeePerGas: 10n * gwei,
      maxPriorityFeePerGas: gwei
    })
  )
  yield* node.call("eth_sendRawTransaction", [foreign])
  yield* node.call("anvil_mine", ["0x4"])
  proxy.clear()
  yield* node.call("evm_setIntervalMining", [1])
  return { account, id, node }
})

/** Types and codes in their order. */
const eventsOf = Effect.fnUntraced(function* (id: TransactionId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly type: string; readonly code: string | null }>`
    SELECT type, data->>'code' AS code FROM events WHERE resource_id = ${id} ORDER BY id`
  return rows.map(({ type, code }) => (type === "transaction.held" ? `held ${code}` : type))
})

layer(api, { excludeTestServices: true, concurrent: true })(
  "a transaction whose nonce another program has used",
  (it) => {
    it.effect("is signed again with the next nonce, once that is proven, and is confirmed", () =>
      Effect.gen(function* () {
        const { account, id, node } = yield* taken()
        const { attempts, nonce } = yield* becomes(id, "confirmed")
        assert.deepStrictEqual([nonce, attempts.map((one) => attemptNonceOf(one))], [1, [0, 1]])
        assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x2")
        assert.strictEqual(
          yield* node.call("eth_getBalance", [receiver, "latest"]),
          "0x64",
          "1 of ours, 99 of the other"
        )
        // A poll before the proof may hold the transaction because the pool does not have it.
        const events = (yield* eventsOf(id)).filter((event) => event !== "held not_in_pool_rebroadcast")
        assert.deepStrictEqual(events, [
          "transaction.signed",
          "transaction.submitted",
          "held nonce_taken",
          "transaction.signed",
          "transaction.submitted",
          "transaction.mined",
          "transaction.confirmed"
        ])
      })
    )

    it.effect("ends as nonce_unavailable if its request requires that nonce", () =>
      Effect.gen(function* () {
        const { account, id, node } = yield* taken({ requiredSequence: 0n })
        const { attempts, cause, nonce } = yield* becomes(id, "failed")
        assert.deepStrictEqual([cause?.code, nonce], ["nonce_unavailable", undefined])
        assert.lengthOf(attempts, 1)
        assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x1")
        assert.strictEqual((yield* eventsOf(id)).at(-1), "transaction.failed")
      })
    )
  }
)
