// `aws_kms` against MiniStack, which signs with real keys and answers as AWS does. MiniStack runs by the clock of the machine.
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as crypto from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { SignerId } from "../../src/domain/signer/Signer.ts"
import { Signers } from "../../src/server/signers/Signers.ts"
import { curveOperations } from "../../src/server/signers/backends/SignerBackend.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Environment from "../../testkit/signers/Environment.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { verify } from "../server/signers/requests.ts"
import { MiniStack, program, region } from "./MiniStack.ts"

const environment = Layer.effectDiscard(
  Environment.set({ AWS_ACCESS_KEY_ID: "service", AWS_SECRET_ACCESS_KEY: "service" })
)

/** As in a pod of Kubernetes whose service account has a role (IRSA): a token in a file, and no keys. */
const webIdentity = Layer.effectDiscard(
  Effect.gen(function* () {
    const file = path.join(yield* folder, "token")
    yield* Effect.promise(() => fs.writeFile(file, "a.b.c"))
    yield* Environment.set({
      AWS_ROLE_ARN: "arn:aws:iam::000000000000:role/relayer",
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_REGION: region
    })
  })
)

const services = (login: Layer.Layer<never>) =>
  Layer.fresh(TestApi.layer()).pipe(Layer.provideMerge(login), Layer.provideMerge(Layer.fresh(MiniStack.layer)))

const create = (id: string, alias: string) =>
  Prepared.create("signers", { id, type: "aws_kms", config: { region, key_id: alias } })

const signs = Effect.fnUntraced(function* (id: string, curve: "secp256k1" | "ed25519", times: number) {
  const backend = yield* (yield* Signers).use(SignerId.make(id))
  const publicKey = yield* backend.publicKey(curve)
  for (let n = 0; n < times; n++) {
    const message = crypto.randomBytes(curve === "secp256k1" ? 32 : 1232)
    const signature = yield* backend.sign(curve, message)
    assert.isTrue(yield* Effect.promise(() => curveOperations[curve].verify(publicKey, message, signature)))
  }
})

if (program === undefined) {
  process.stdout.write("not tested on MiniStack, which needs Python 3 with venv, and its packages from PyPI\n")
}

const live = { excludeTestServices: true }

describe.runIf(program !== undefined)("on MiniStack,", () => {
  layer(services(environment), live)("with keys of the environment,", (it) => {
    for (const curve of ["secp256k1", "ed25519"] as const) {
      it.effect(`a key on ${curve} signs, and the operator is warned when its alias moves`, () =>
        Effect.gen(function* () {
          const { createKey, disableKey } = yield* MiniStack
          const [id, alias] = [`on-${curve}`, `alias/${curve}`]
          const key = yield* createKey(curve, alias)
          yield* create(id, alias)
          yield* signs(id, curve, 40)
          yield* createKey(curve, alias)
          yield* signs(id, curve, 1)
          const { steps, verified } = yield* verify(id)
          assert.isTrue(verified)
          assert.include(steps[0], `warning ${alias} now points to arn:aws:kms:${region}:`)
          yield* disableKey(key)
          const disabled = yield* verify(id)
          assert.include(disabled.steps.join(), "failed the key is disabled, or does not sign")
        })
      )
    }

    it.effect("a message of more than 4,096 bytes is refused on ed25519 without a call", () =>
      Effect.gen(function* () {
        const { createKey } = yield* MiniStack
        yield* createKey("ed25519", "alias/long")
        yield* create("long", "alias/long")
        const backend = yield* (yield* Signers).use(SignerId.make("long"))
        const { message } = yield* Effect.flip(backend.sign("ed25519", crypto.randomBytes(4097)))
        assert.strictEqual(message, "AWS KMS signs at most 4096 bytes on ed25519")
      })
    )
  })

  layer(services(webIdentity), live)("with the role of a service account,", (it) => {
    it.effect("a key signs (IRSA)", () =>
      Effect.gen(function* () {
        const { createKey } = yield* MiniStack
        yield* createKey("secp256k1", "alias/irsa")
        yield* create("irsa", "alias/irsa")
        yield* signs("irsa", "secp256k1", 3)
        assert.isUndefined(process.env.AWS_ACCESS_KEY_ID)
      })
    )
  })
})
