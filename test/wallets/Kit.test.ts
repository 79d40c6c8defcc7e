// A user without SOL sends a transaction that @solana/kit has built and signed in part, through a solana relayer.
// The cluster makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { folder } from "../../testkit/process/Folder.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import * as Paying from "../networks/solana/requests/Paying.ts"
import { api, relayerAt } from "../networks/solana/requests/Relayers.ts"
import { pemOf } from "../testkit/solana/World.ts"
import { output, tools } from "./Setup.ts"

layer(api, { excludeTestServices: true })("through a solana relayer,", (it) => {
  for (const version of [0, 1]) {
    it.effect(`a user of @solana/kit without SOL pays in a token for a transaction of version ${version}`, () =>
      Effect.gen(function* () {
        const { address, cluster, id } = yield* relayerAt(Paying.policies)
        Paying.prepare(cluster, address)
        const key = path.join(yield* folder, "user.pem")
        yield* Effect.promise(() => fs.writeFile(key, pemOf(Paying.userKey)))
        const { baseUrl } = yield* TestApi.TestApi
        const env = { PATH: process.env.PATH, RELAYER_URL: baseUrl, API_KEY: TestApi.apiKey }
        const printed = yield* output(tools, env, process.execPath, ["kit.mjs", id, Paying.mint, key, String(version)])
        assert.deepStrictEqual(JSON.parse(printed), {
          user: Paying.user,
          version,
          status: "confirmed",
          code: "confirmed"
        })
        assert.strictEqual(cluster.balanceOf(Paying.user), 0n)
      })
    )
  }
})
