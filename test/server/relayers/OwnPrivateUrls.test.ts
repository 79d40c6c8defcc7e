// Private RPC URLs of a relayer: they have all rules of its other ones, and stand for those of its network.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { Networks } from "../../../src/server/networks/Networks.ts"
import { NetworkId } from "../../../src/domain/network/Network.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { rowState } from "../../../src/sql/Rows.ts"
import type { ReadRow } from "../../../src/sql/Rows.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { solanaRelayer } from "../../../testkit/fixtures.ts"
import { patch, setUp } from "./Patched.ts"

const secret = "s3cr3t-path"
const url = `https://private.example.com/v1/${secret}`
const masked = [{ url: "https://private.example.com/***", weight: 100 }]

const target = Effect.flatMap(RelayerTargets, (targets) => targets.get(RelayerId.make("relayer-1")))

const shownIn = ({ json }: TestApi.Answer) =>
  (json.data as { readonly custom_private_rpc_urls?: unknown }).custom_private_rpc_urls

layerEach(Prepared.layer(setUp))("private RPC URLs of a relayer", (it) => {
  it.effect("are masked in responses, sealed in a column of their own, and stand for those of its network", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const networks = yield* Networks
      const before = yield* target
      const network = NetworkId.make(before.network.id)
      yield* networks.update(network, { private_rpc_urls: [{ url: "https://network.example.com/key", weight: 1 }] })
      assert.deepStrictEqual((yield* target).privateUrls, [{ url: "https://network.example.com/key", weight: 1 }])

      const changed = yield* patch({ custom_private_rpc_urls: [{ url }] })
      assert.strictEqual(changed.status, 200, changed.text)
      assert.deepStrictEqual(shownIn(changed), masked)
      assert.notInclude(changed.text, secret)
      const after = yield* target
      assert.deepStrictEqual([after.privateUrls, after.urls], [[{ url, weight: 100 }], before.urls])
      const [row] = yield* sql<{ shown: string; sealed: Uint8Array; key: string | null }>`
        SELECT json AS shown, custom_private_rpc_urls_sealed AS sealed, custom_private_rpc_urls_sealed_key_id AS key
        FROM relayers WHERE id = 'relayer-1'`
      assert.notInclude(row?.shown, secret)
      assert.isFalse(Buffer.from(row?.sealed ?? []).includes(secret))
      assert.isString(row?.key)

      const other = yield* patch({ custom_rpc_urls: [{ url: "https://own.example.com/key" }] })
      assert.strictEqual(other.status, 200, other.text)
      assert.deepStrictEqual((yield* target).privateUrls, [{ url, weight: 100 }], "they stay beside the other list")
      const removed = yield* patch({ custom_private_rpc_urls: null })
      assert.isUndefined(shownIn(removed))
      assert.deepStrictEqual((yield* target).privateUrls, [{ url: "https://network.example.com/key", weight: 1 }])
    })
  )

  it.effect(
    "are remembered by lanes with the row of the network that gives them, so that a change of them is noticed",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const networks = yield* Networks
        const targets = yield* RelayerTargets
        const id = RelayerId.make("relayer-1")
        const network = NetworkId.make((yield* target).network.id)
        const give = (given: string) => networks.update(network, { private_rpc_urls: [{ url: given, weight: 1 }] })
        const rows = sql<ReadRow>`SELECT w.id, ${rowState(sql, "w")} AS state FROM networks w WHERE w.id = ${network}`
        yield* give("https://network.example.com/key")
        for (const own of [null, [{ url: "https://own.example.com/key" }]]) {
          yield* patch({ custom_rpc_urls: own })
          yield* targets.getRemembering(id)
          const [known] = targets.known([id])
          assert.deepStrictEqual(known?.target.privateUrls, (yield* target).privateUrls)
          assert.deepStrictEqual(known?.terms.networks, yield* rows)
          yield* give(`https://network.example.com/other-${String(own?.length)}`)
          assert.notDeepEqual(known?.terms.networks, yield* rows)
        }
      })
  )

  it.effect("stay when their masks are sent back", () =>
    Effect.gen(function* () {
      yield* patch({ custom_private_rpc_urls: [{ url }] })
      const again = yield* patch({ custom_private_rpc_urls: [{ url: "https://private.example.com/***", weight: 7 }] })
      assert.strictEqual(again.status, 200, again.text)
      assert.deepStrictEqual((yield* target).privateUrls, [{ url, weight: 7 }])
      const unknown = yield* patch({ custom_private_rpc_urls: [{ url: "https://other.example.com/***" }] })
      assert.deepStrictEqual(
        [unknown.status, unknown.json.error],
        [400, "custom_private_rpc_urls.0.url: is masked, and no stored URL has this mask: send the URL itself"]
      )
    })
  )

  it.effect("whose endpoints publish what they get are refused, and so are those of another network type", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const publishing = yield* patch({
        custom_private_rpc_urls: [{ url: "https://rpc.example.com/?useMempool=true" }]
      })
      assert.strictEqual(publishing.status, 400)
      assert.include(publishing.text, "custom_private_rpc_urls.0.url: has useMempool")
      const body = { ...solanaRelayer, id: "another", custom_private_rpc_urls: [{ url }] }
      const solana = yield* call("/api/v1/relayers", { body })
      assert.strictEqual(solana.status, 400)
      assert.include(solana.text, "custom_private_rpc_urls: is not a known field")
    })
  )
})
