// Masked RPC URLs in a patch.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import { patch, setUp } from "./Patched.ts"

layerEach(Prepared.layer(setUp))("a relayer", (it) => {
  it.effect("a masked URL stands for the stored URL with that mask, the n-th occurrence for the n-th", () =>
    Effect.gen(function* () {
      const secrets = [
        { url: "https://rpc.example.net/first-key", weight: 10 },
        { url: "https://rpc.example.net/second-key", weight: 20 },
        { url: "https://rpc.example.org/third-key", weight: 30 }
      ]
      const [net, org] = ["https://rpc.example.net/***", "https://rpc.example.org/***"]
      const stored = Effect.gen(function* () {
        const targets = yield* RelayerTargets
        return (yield* targets.get(RelayerId.make("relayer-1"))).urls
      })
      assert.strictEqual((yield* patch({ custom_rpc_urls: secrets })).status, 200)

      const reordered = yield* patch({
        custom_rpc_urls: [
          { url: org, weight: 1 },
          { url: net, weight: 2 },
          { url: "https://new.example/key", weight: 3 },
          { url: net, weight: 4 }
        ]
      })
      assert.strictEqual(reordered.status, 200, reordered.text)
      const expected = [
        { url: "https://rpc.example.org/third-key", weight: 1 },
        { url: "https://rpc.example.net/first-key", weight: 2 },
        { url: "https://new.example/key", weight: 3 },
        { url: "https://rpc.example.net/second-key", weight: 4 }
      ]
      assert.deepStrictEqual(yield* stored, expected)

      const version = reordered.headers.get("etag")
      const shown = (reordered.json.data as { custom_rpc_urls: unknown }).custom_rpc_urls
      const same = yield* patch({ custom_rpc_urls: shown })
      assert.deepStrictEqual([same.status, same.headers.get("etag")], [200, version])

      const third = yield* patch({ custom_rpc_urls: [{ url: net }, { url: net }, { url: net }] })
      assert.deepStrictEqual(
        [third.status, third.json.error],
        [400, "custom_rpc_urls.2.url: is masked, and no stored URL has this mask: send the URL itself"]
      )
      assert.deepStrictEqual(yield* stored, expected)
    })
  )
})
