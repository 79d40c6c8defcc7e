// Signers sign while requests to create others fail, whatever names of accounts these requests give.
import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as nodeCrypto from "node:crypto"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import * as Turnkey from "../../../../testkit/signers/Turnkey.ts"
import { backends, open, prepare, signs, standIns } from "./signers.ts"

for (const [name, standIn] of standIns) {
  layerEach(Layer.provideMerge(backends, Layer.fresh(standIn)))(`a signer of ${name}`, (it) => {
    it.effect("signs after the creation of others has failed many times", () =>
      Effect.gen(function* () {
        const { reply, request } = yield* StandIn
        const backend = yield* open(request("secp256k1"))
        for (const operation of ["describe", "sign"] as const) {
          reply(operation, (response) => void response.writeHead(200).end("<html>"))
        }
        for (let n = 0; n < 6; n++) yield* Effect.flip(prepare(request("secp256k1")))
        for (const operation of ["describe", "sign"] as const) reply(operation, undefined)
        yield* signs(backend, "secp256k1")
      })
    )
  })
}

const apiKey = () => {
  const pair = nodeCrypto.createECDH("prime256v1")
  pair.generateKeys()
  return {
    api_public_key: pair.getPublicKey("hex", "compressed"),
    api_private_key: pair.getPrivateKey("hex").padStart(64, "0")
  }
}

const id = "6b8b4d1e-5555-4666-8777-888899990000"

it.effect("a signer of turnkey does not wait for requests of strangers that name its organization", () =>
  Effect.gen(function* () {
    const { request } = yield* Turnkey.Turnkey
    const { reply } = yield* StandIn
    const backend = yield* open(request(id))
    reply("sign", (response) => void response.writeHead(403).end("{}"))
    // The rate of an organization is 60 calls per second, and the creation of a signer takes two of them. The clock stands still.
    for (let n = 0; n < 29; n++) yield* Effect.flip(prepare(request(id, apiKey())))
    reply("sign", undefined)
    yield* signs(backend, "secp256k1")
  }).pipe(Effect.provide(Layer.provideMerge(backends, Layer.fresh(Turnkey.layer))))
)
