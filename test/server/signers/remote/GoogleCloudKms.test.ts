// Signers whose key is in Google Cloud KMS: the login, and the checks of what Google answers.
// What was refused is tried again after a pause by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as crypto from "node:crypto"
import { crc32c, selfSigned } from "../../../../src/server/signers/backends/GoogleCloudKms.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Environment from "../../../../testkit/signers/Environment.ts"
import * as Google from "../../../../testkit/signers/Google.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import { contract } from "./contract.ts"
import { backends, failureOfRequest, open, prepare, signs } from "./signers.ts"

contract("google_cloud_kms", ["secp256k1", "ed25519"], Google.layer, {
  "moved alias": "the request names one version of the key"
})

const key = { location: "europe-west3", key_ring_id: "relayers", key_id: "ed25519", key_version: 1 }
const withAccount = (changes: object) => ({
  type: "google_cloud_kms" as const,
  config: { service_account: { ...Google.serviceAccount, ...changes }, key }
})
const withoutAccount = (project: object) => ({
  type: "google_cloud_kms" as const,
  config: { key: { ...key, ...project } }
})

const services = Layer.provideMerge(backends, Layer.fresh(Google.layer))

layerEach(services)("a key in Google Cloud KMS", (it) => {
  it.live("is stored with its full name and without a secret in what is shown", () =>
    Effect.gen(function* () {
      const { request } = yield* StandIn
      const { config, secret } = yield* prepare(request("secp256k1"))
      const { private_key, private_key_id, client_email, ...account } = Google.serviceAccount
      assert.deepStrictEqual(JSON.parse(JSON.stringify(config)), {
        service_account: account,
        key: { ...key, key_id: "secp256k1" },
        key_version_name: Google.versionName("secp256k1"),
        algorithm: "EC_SIGN_SECP256K1_SHA256",
        protection_level: "HSM"
      })
      for (const text of [private_key_id, client_email]) assert.include(Redacted.value(secret), text)
      assert.deepStrictEqual(JSON.parse(Redacted.value(secret)).credentials.private_key, private_key)
    })
  )

  it.live("is refused in a request without a project, or with something else than an RSA key", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* failureOfRequest(withoutAccount({})),
        "config.key.project_id: is required without service_account"
      )
      const { privateKey } = crypto.generateKeyPairSync("ed25519")
      for (const pem of ["no key", privateKey.export({ format: "pem", type: "pkcs8" })]) {
        assert.strictEqual(
          yield* failureOfRequest(withAccount({ private_key: pem })),
          "config.service_account.private_key: is not an RSA private key in PEM"
        )
      }
    })
  )

  const changed: ReadonlyArray<readonly [string, object, string]> = [
    ["for another key", { name: Google.versionName("secp256k1") }, "Google has answered for another key"],
    [
      "with another algorithm",
      { algorithm: "EC_SIGN_P256_SHA256" },
      "the algorithm of the key must be EC_SIGN_SECP256K1_SHA256 or EC_SIGN_ED25519"
    ],
    ["with a key that is changed", { pemCrc32c: "1" }, "the bytes between the service and Google were changed"],
    [
      "with a signature that is changed",
      { signatureCrc32c: "1" },
      "the bytes between the service and Google were changed"
    ],
    ["that it got other bytes", { verifiedDataCrc32c: false }, "the bytes between the service and Google were changed"]
  ]
  for (const [name, change, message] of changed) {
    it.live(`is not used if Google answers ${name}`, () =>
      Effect.gen(function* () {
        const google = yield* Google.Google
        google.change = (answer) => ({
          ...answer,
          ...Object.fromEntries(Object.entries(change).filter(([field]) => field in answer))
        })
        assert.include(yield* failureOfRequest(withAccount({})), message)
      })
    )
  }

  it.live("that is still generated is reported as such", () =>
    Effect.gen(function* () {
      const google = yield* Google.Google
      google.state = "KEY_PENDING_GENERATION"
      const message = "config.key: Google is still generating the key; try again in a few minutes"
      assert.strictEqual(yield* failureOfRequest(withAccount({})), message)
    })
  )

  it.live("is not found by a clock that is wrong, and the message says so", () =>
    Effect.gen(function* () {
      const { fail, request } = yield* StandIn
      fail("describe", "clock skew")
      const message = yield* failureOfRequest(request("ed25519"))
      assert.match(
        message,
        /^config\.service_account: Google refuses the login; the clock of this machine is \d+ s behind$/u
      )
    })
  )
})

describe("the login of the environment", () => {
  it.live("uses a token of the metadata server, and another one if Google refuses it", () =>
    Effect.gen(function* () {
      const { count, fail } = yield* StandIn
      const google = yield* Google.Google
      yield* Environment.set({
        GCE_METADATA_HOST: google.url.replace("http://", ""),
        METADATA_SERVER_DETECTION: "assume-present"
      })
      const backend = yield* open(withoutAccount({ project_id: "my-project" }))
      yield* signs(backend, "ed25519")
      assert.strictEqual(google.tokens.size, 1)
      fail("sign", "expired login", 1)
      yield* signs(backend, "ed25519")
      assert.deepStrictEqual([google.tokens.size, count("sign")], [2, 4])
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("the login of an environment that has none", () => {
  it.effect("is named as what is missing, and not as an outage of Cloud KMS", () =>
    Effect.gen(function* () {
      const { fail, silent } = yield* StandIn
      const google = yield* Google.Google
      yield* Environment.set({
        GCE_METADATA_HOST: google.url.replace("http://", ""),
        METADATA_SERVER_DETECTION: "assume-present"
      })
      fail("login", "silent")
      const failing = yield* Effect.forkChild(failureOfRequest(withoutAccount({ project_id: "my-project" })))
      for (let tried = 1; tried <= 3; tried++) {
        yield* silent
        yield* TestClock.adjust("2 seconds")
        yield* TestClock.adjust("400 millis")
      }
      const message = "no login to Google was found in time: the environment of the service may have none"
      assert.strictEqual(yield* Fiber.join(failing), `config.key: ${message}`)
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("a token that a service account signs", () => {
  it.effect("is for Cloud KMS alone, and for an hour", () =>
    Effect.sync(() => {
      const { private_key, private_key_id, client_email } = Google.serviceAccount
      const credentials = {
        private_key: Redacted.make(private_key),
        private_key_id: Redacted.make(private_key_id),
        client_email: Redacted.make(client_email)
      }
      const [header, claims] = Redacted.value(selfSigned(credentials, 1_800_000_000_500))
        .split(".")
        .map((part) => Buffer.from(part, "base64url").toString())
      assert.deepStrictEqual(JSON.parse(header ?? ""), { alg: "RS256", typ: "JWT", kid: private_key_id })
      assert.deepStrictEqual(JSON.parse(claims ?? ""), {
        iss: client_email,
        sub: client_email,
        aud: "https://cloudkms.googleapis.com/",
        iat: 1_800_000_000,
        exp: 1_800_003_600
      })
    })
  )
})

describe("CRC-32C", () => {
  it.effect("has the check value of its definition", () =>
    Effect.sync(() => {
      assert.strictEqual(crc32c(Buffer.from("123456789")), String(0xe3069283))
      assert.strictEqual(crc32c(new Uint8Array(0)), "0")
    })
  )
})
