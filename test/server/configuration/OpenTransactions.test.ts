// Relayers with open transactions or channels are neither deleted nor replaced, also if a transaction is accepted during the apply.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { cases } from "../../../testkit/Depth.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { send } from "../transactions/Fixtures.ts"
import { applied, apply, call, document, planned, refusedPlan, rows, textOf } from "./requests.ts"

const network = {
  chain_id: 31_337,
  required_confirmations: 1,
  average_blocktime_ms: 1000,
  symbol: "ETH",
  features: ["eip1559"],
  is_testnet: true,
  rpc_urls: [{ url: "http://127.0.0.1:1/" }]
}

const relayer = (name: string) => ({
  name,
  network_type: "evm",
  network: "nowhere",
  signer_id: "treasury-key",
  paused: false
})

/** A configuration with these relayers on a network without a chain, where transactions stay pending. */
const withRelayers = (ids: ReadonlyArray<string>) => ({
  version: 1,
  name: "sending",
  networks: { "evm:nowhere": network },
  signers: document.signers,
  relayers: Object.fromEntries(ids.map((id) => [id, relayer(id)]))
})

const prune = { prune: true }

/** How many relayers are deleted while a transaction arrives. */
const rounds = cases(100)

/** A stellar relayer of the configuration, and accounts that sign with its account. */
const withChannels = Effect.fnUntraced(function* (count: number) {
  const given = {
    version: 1,
    name: "stellar",
    signers: document.signers,
    relayers: { star: { ...relayer("star"), network_type: "stellar", network: "testnet" } }
  }
  yield* applied(given)
  const { address } = (yield* call("/api/v1/relayers/star")).json.data as { readonly address: string }
  const sql = yield* SqlClient.SqlClient
  const [lane] = yield* sql<{ id: string }>`
    INSERT INTO lanes (chain, address, window_size) VALUES ('stellar:testnet', ${address}, 1) RETURNING id`
  yield* sql`
    INSERT INTO lanes (chain, address, window_size, parent_id)
    SELECT 'stellar:testnet', 'channel-' || n, 1, ${lane?.id ?? ""}::bigint FROM generate_series(1, ${count}::int) n`
  const release = sql`UPDATE lanes SET released_at = now() WHERE parent_id IS NOT NULL`
  return { given, release }
})

layerEach(TestApi.layer())("a relayer of a configuration", (it) => {
  it.effect("with open transactions is not deleted, and nothing else is applied", () =>
    Effect.gen(function* () {
      yield* applied(withRelayers(["sender", "other"]))
      for (const value of ["1", "2"]) yield* send({ to: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", value })
      const without = { ...withRelayers(["other"]), notifications: { ops: document.notifications.ops } }
      const before = yield* rows
      const refused = yield* refusedPlan(without, prune)
      assert.strictEqual(refused, "relayers.sender: cannot be deleted: 2 of its transactions are open")
      assert.strictEqual(yield* rows, before)
      const digest = "0".repeat(43)
      const body = textOf({ document: without, options: prune, digest })
      assert.strictEqual((yield* call("/api/v1/configuration/apply", { body })).status, 412)
      assert.strictEqual(yield* rows, before)
    })
  )

  it.effect("with a transaction that was accepted after the plan is not deleted", () =>
    Effect.gen(function* () {
      yield* applied(withRelayers(["sender", "other"]))
      const before = send({ to: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", value: "1" })
      const answer = yield* apply(withRelayers(["other"]), prune, { before })
      assert.strictEqual(answer.status, 412, answer.text)
      assert.include(answer.text, "relayers.sender: has changed since the plan")
      assert.strictEqual((yield* call("/api/v1/relayers/sender")).status, 200)
    })
  )

  it.effect("is deleted by an apply, or gets a transaction meanwhile, never both, each time", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: rounds }, (_, index) => `r${index}`)
      yield* applied(withRelayers(ids))
      let kept: ReadonlyArray<string> = ids
      for (const id of ids) {
        const without = withRelayers(kept.filter((other) => other !== id))
        const { digest, seen } = yield* planned(without, prune)
        const [deletion, sent] = yield* Effect.all(
          [
            call("/api/v1/configuration/apply", { body: textOf({ document: without, options: prune, digest, seen }) }),
            call(`/api/v1/relayers/${id}/transactions`, {
              body: { to: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", value: "1" }
            })
          ],
          { concurrency: 2 }
        )
        const isDeleted = deletion.status === 200
        if (isDeleted) kept = kept.filter((other) => other !== id)
        const context = `${id}: ${deletion.status} ${deletion.text} ${sent.status} ${sent.text}`
        assert.notStrictEqual(isDeleted, sent.status < 300, context)
        assert.strictEqual((yield* call(`/api/v1/relayers/${id}`)).status, isDeleted ? 404 : 200, context)
      }
    })
  )

  it.effect("with channels is neither deleted nor replaced until they are released", () =>
    Effect.gen(function* () {
      const { given, release } = yield* withChannels(3)
      const command = "it has 3 channels: release them first with effect-relayer relayers channels-release star"
      const removed = { ...given, relayers: {} }
      assert.strictEqual(yield* refusedPlan(removed, prune), `relayers.star: cannot be deleted: ${command}`)
      const moved = { ...given, relayers: { star: { ...given.relayers.star, network: "mainnet" } } }
      const replaced = yield* refusedPlan(moved, { replace: ["relayers.star"] })
      assert.strictEqual(replaced, `relayers.star: cannot be replaced: ${command}`)
      yield* release
      yield* applied(removed, prune)
      assert.strictEqual((yield* call("/api/v1/relayers/star")).status, 404)
    })
  )
})
