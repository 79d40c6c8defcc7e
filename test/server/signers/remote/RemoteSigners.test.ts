// Signers whose key stays in a key service, over HTTP: AWS KMS stands for all of them.
// A verification waits for a slow service by the clock of the machine.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as crypto from "node:crypto"
import { SignerId } from "../../../../src/domain/signer/Signer.ts"
import { Signers } from "../../../../src/server/signers/Signers.ts"
import { evmRelayer } from "../../../../testkit/fixtures.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as AwsKms from "../../../../testkit/signers/AwsKms.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { verify } from "../requests.ts"

const call = TestApi.callBelow("/api/v1/")

const Shown = Schema.Struct({
  config: Schema.Struct({ region: Schema.String, key_id: Schema.String, key_arn: Schema.String }),
  curve: Schema.String,
  public_key: Schema.String,
  addresses: Schema.Record(Schema.String, Schema.String),
  disabled_reason: Schema.optionalKey(Schema.Struct({ code: Schema.String, message: Schema.String, at: Schema.String }))
})

const toShown = Schema.decodeUnknownEffect(Shown)

const get = (id: string) => Effect.flatMap(call(`signers/${id}`), ({ json }) => toShown(json.data))

const create = Effect.fnUntraced(function* (id: string, curve: "secp256k1" | "ed25519" = "secp256k1") {
  const { request } = yield* StandIn
  return yield* Effect.flatMap(Prepared.create("signers", { id, ...request(curve) }), toShown)
})

const sign = Effect.fnUntraced(function* (id: string) {
  const backend = yield* (yield* Signers).use(SignerId.make(id))
  return yield* backend.sign("secp256k1", crypto.randomBytes(32))
})

/** Events are read from the table, because `/events` waits for older transactions of other databases of the server. */
const eventsOf = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ type: string }>`SELECT type FROM events WHERE resource_id = ${id} ORDER BY id`
  return rows.map(({ type }) => type)
})

const services = Layer.provideMerge(TestApi.layer(), AwsKms.layer)

layerEach(services)("a signer of a key service", (it) => {
  it.live("shows the resolved key, its curve and its public key, and has the addresses of the curve only", () =>
    Effect.gen(function* () {
      const [evm, ed25519] = [yield* create("evm"), yield* create("edwards", "ed25519")]
      assert.match(evm.config.key_arn, /^arn:aws:kms:eu-west-1:111122223333:key\//)
      assert.deepStrictEqual([evm.config.key_id, evm.curve], ["alias/secp256k1", "secp256k1"])
      assert.match(evm.public_key, /^04[0-9a-f]{128}$/)
      assert.sameMembers(Object.keys(evm.addresses), ["evm"])
      assert.match(ed25519.public_key, /^[0-9a-f]{64}$/)
      assert.sameMembers(Object.keys(ed25519.addresses), ["solana", "stellar"])
      assert.deepStrictEqual(yield* get("evm"), evm)
    })
  )

  it.live("is refused for a key that another signer has", () =>
    Effect.gen(function* () {
      const { config } = yield* create("first")
      const body = { type: "aws_kms", config: { region: config.region, key_id: config.key_arn } }
      const { status, json } = yield* call("signers", { body })
      assert.deepStrictEqual([status, json.message], [409, "Another signer already has this key"])
      yield* call("signers/first", { method: "DELETE" })
      assert.strictEqual((yield* call("signers", { body })).status, 201)
    })
  )

  it.live("is refused with the field that is wrong", () =>
    Effect.gen(function* () {
      const errorOf = (config: object) =>
        Effect.map(call("signers", { body: { type: "aws_kms", config } }), ({ status, json }) => [status, json.error])
      const region = "eu-west-1"
      const arn = "arn:aws:kms:us-east-1:111122223333:key/1"
      assert.deepStrictEqual(yield* errorOf({ region, key_id: arn }), [
        400,
        "config.key_id: is the ARN of another region than config.region"
      ])
      assert.deepStrictEqual(yield* errorOf({ region, key_id: "alias/none" }), [
        400,
        "config.key_id: AWS KMS has no such key in this region"
      ])
      for (const wrong of ["x.evil.test", "eu-west-1.evil.test/#", "EU-WEST-1", "eu"]) {
        const [status, error] = yield* errorOf({ region: wrong, key_id: "alias/secp256k1" })
        assert.strictEqual(status, 400)
        assert.include(String(error), "config.region: Expected a region of AWS")
      }
    })
  )

  it.live("serves only network types of its curve", () =>
    Effect.gen(function* () {
      yield* create("edwards", "ed25519")
      const body = { ...evmRelayer, notification_id: undefined, signer_id: "edwards" }
      const { status, json } = yield* call("relayers", { body })
      assert.strictEqual(status, 400)
      assert.include(json.error ?? "", "signer_id: an aws_kms signer cannot serve evm because its key is on ed25519")
    })
  )

  it.live("is verified: the state of the key, the public key, a signature", () =>
    Effect.gen(function* () {
      yield* create("hot")
      assert.deepStrictEqual(yield* verify("hot"), {
        verified: true,
        steps: [
          "secp256k1 key_state ok enabled, ECC_SECG_P256K1, SIGN_VERIFY",
          "secp256k1 public_key ok",
          "secp256k1 sign ok",
          "secp256k1 verify ok"
        ]
      })
      const { fail, moveAlias } = yield* StandIn
      moveAlias?.("secp256k1")
      const moved = yield* verify("hot")
      assert.isTrue(moved.verified)
      assert.match(moved.steps[0] ?? "", /^secp256k1 key_state warning alias\/secp256k1 now points to arn:/)
      fail("describe", "disabled key")
      const disabled = yield* verify("hot")
      assert.isFalse(disabled.verified)
      assert.deepStrictEqual(disabled.steps.slice(1), [
        "secp256k1 public_key skipped",
        "secp256k1 sign skipped",
        "secp256k1 verify skipped"
      ])
      assert.strictEqual(disabled.steps[0], "secp256k1 key_state failed the key is disabled, or does not sign")
      assert.isUndefined((yield* get("hot")).disabled_reason)
    })
  )

  it.live("is disabled when the key service signs with another key, until a verification succeeds", () =>
    Effect.gen(function* () {
      const { count, fail } = yield* StandIn
      yield* create("hot")
      yield* sign("hot")
      fail("sign", "other key", 1)
      assert.strictEqual((yield* Effect.flip(sign("hot")))._tag, "SignerUnavailable")
      const { disabled_reason } = yield* get("hot")
      assert.strictEqual(disabled_reason?.code, "key_mismatch")
      const calls = count("sign")
      const refused = yield* Effect.flip(sign("hot"))
      assert.match(refused._tag === "SignerUnavailable" ? refused.message : "", /^the signer is disabled until/)
      assert.strictEqual(count("sign"), calls)

      assert.isTrue((yield* verify("hot")).verified)
      assert.isUndefined((yield* get("hot")).disabled_reason)
      yield* sign("hot")
      assert.deepStrictEqual(yield* eventsOf("hot"), ["signer.created", "signer.disabled", "signer.enabled"])
    })
  )

  it.live("is disabled by a verification that finds another public key", () =>
    Effect.gen(function* () {
      const { fail } = yield* StandIn
      yield* create("hot")
      fail("describe", "other key", 1)
      const { steps, verified } = yield* verify("hot")
      assert.isFalse(verified)
      assert.strictEqual(steps[1], "secp256k1 public_key failed is not the key that the signer was created with")
      assert.strictEqual((yield* get("hot")).disabled_reason?.code, "key_mismatch")
    })
  )

  it.live("stays disabled if it is disabled again while a verification of the first time runs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { fail, reply } = yield* StandIn
      yield* create("hot")
      fail("sign", "other key", 1)
      yield* Effect.flip(sign("hot"))
      const called = yield* Deferred.make<void>()
      reply("describe", (response) => {
        reply("describe", undefined)
        response.writeHead(400, { "retry-after": "1" }).end(JSON.stringify({ __type: "ThrottlingException" }))
        Deferred.doneUnsafe(called, Effect.void)
      })
      const verifying = yield* Effect.forkChild(verify("hot"))
      yield* Deferred.await(called)
      yield* sql`UPDATE signers SET disabled_reason = jsonb_set(disabled_reason, '{at}', '"2026-01-01T00:00:00.000Z"')`
      assert.isTrue((yield* Fiber.join(verifying)).verified)
      assert.strictEqual((yield* get("hot")).disabled_reason?.at, "2026-01-01T00:00:00.000Z")
      assert.isTrue((yield* verify("hot")).verified)
      assert.isUndefined((yield* get("hot")).disabled_reason)
    })
  )

  it.live("is not disabled by a signature for a deleted signer with the same id", () =>
    Effect.gen(function* () {
      const { fail, moveAlias } = yield* StandIn
      yield* create("hot")
      const former = yield* (yield* Signers).use(SignerId.make("hot"))
      yield* call("signers/hot", { method: "DELETE" })
      moveAlias?.("secp256k1")
      yield* create("hot")
      fail("sign", "other key", 1)
      assert.strictEqual((yield* Effect.flip(former.sign("secp256k1", crypto.randomBytes(32)))).reason, "mismatch")
      assert.isUndefined((yield* get("hot")).disabled_reason)
      yield* sign("hot")
    })
  )

  it.live("does not sign after a change of its row, and calls nobody", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { count } = yield* StandIn
      const { config, public_key } = yield* create("hot")
      const before = [count("sign"), count("describe")]
      const other = (changes: object) => sql`config = ${JSON.stringify({ ...config, ...changes })}::text::jsonb`
      for (const change of [
        other({ region: "us-east-1" }),
        other({ key_arn: config.key_arn.replace("1111", "9999") }),
        sql`public_key = ${public_key.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"))}`,
        sql`curve = 'ed25519'`,
        sql`evm_address = '0x0000000000000000000000000000000000000000'`
      ]) {
        yield* sql`CREATE TABLE kept AS SELECT config, public_key, curve, evm_address FROM signers`
        yield* sql`UPDATE signers SET ${change}`
        assert.strictEqual((yield* call("signers/hot")).status, 500)
        // A list leaves it out.
        const { status: listed, json } = yield* call("signers")
        assert.deepStrictEqual([listed, json.data], [200, []])
        const { status, text } = yield* call("signers/hot/verify", { method: "POST" })
        assert.strictEqual(status, 500)
        assert.include(text, "changed its row in the database")
        yield* sql`UPDATE signers SET config = k.config, public_key = k.public_key, curve = k.curve, evm_address = k.evm_address
          FROM kept k`
        yield* sql`DROP TABLE kept`
      }
      assert.deepStrictEqual([count("sign"), count("describe")], before)
      yield* sign("hot")
    })
  )
})
