// What the repository of relayers ought to be: a list in memory, and the commands that are given to both.
import { assert } from "@effect/vitest"
import { Effect, Equal, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NetworkName } from "../../../src/domain/Network.ts"
import { pageRequest } from "../../../src/domain/Page.ts"
import { CreateRelayer, RelayerId } from "../../../src/domain/Relayer.ts"
import type { Relayer } from "../../../src/domain/Relayer.ts"
import { maskRpc } from "../../../src/domain/Rpc.ts"
import { SignerId } from "../../../src/domain/Signer.ts"
import { RelayersRepo } from "../../../src/server/Relayers/RelayersRepo.ts"
import { SignersRepo } from "../../../src/server/Signers/SignersRepo.ts"

const signerIds = ["s1", "s2", "s3"].map((id) => SignerId.make(id))

const addSigners = Effect.gen(function* () {
  const signers = yield* SignersRepo
  for (const id of signerIds) {
    const addresses = { evm: `evm-${id}`, solana: `solana-${id}`, stellar: `stellar-${id}` }
    yield* signers.insert({ id, type: "plain", config: {}, addresses }, new Uint8Array([1]))
  }
})

export const clear = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE relayers, signers`
  yield* addSigners
})

/** Few ids, signers and networks, so that requests meet. */
export const Small = Schema.Struct({
  id: Schema.Literals(["a", "b", "c", "d"]),
  signer: Schema.Literals(["s1", "s2", "s3", "nobody"]),
  network: Schema.Literals(["n1", "n2"]),
  template: CreateRelayer
})

export const toRequest = ({ id, signer, network, template }: typeof Small.Type): CreateRelayer => {
  const { notification_id: _, ...rest } = template
  return {
    ...rest,
    id: RelayerId.make(id),
    signer_id: SignerId.make(signer),
    network: NetworkName.make(network)
  } as CreateRelayer
}

const Command = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Create"), relayer: Small }),
  Schema.Struct({
    _tag: Schema.tag("CreateAtOnce"),
    relayers: Schema.Array(Small).check(Schema.isBetweenLength(2, 4))
  }),
  Schema.Struct({ _tag: Schema.tag("Get"), id: Schema.Literals(["a", "b", "c", "d", "e"]) }),
  Schema.Struct({
    _tag: Schema.tag("List"),
    page: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
    per_page: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
  })
])
export const Commands = Schema.Array(Command).check(Schema.isBetweenLength(1, 25))

export const insert = (request: CreateRelayer) =>
  Effect.gen(function* () {
    const repo = yield* RelayersRepo
    const urls = request.custom_rpc_urls
    return yield* repo.insert({
      id: request.id ?? RelayerId.make("never"),
      request,
      maskedRpcUrls: urls === undefined || urls.length === 0 ? undefined : urls.map(maskRpc),
      rpcUrlsSealed: undefined
    })
  })

/** What the repository ought to be: relayers in creation order. */
export class Model {
  readonly relayers: Array<Relayer> = []

  outcome(request: CreateRelayer): string {
    if (!signerIds.some((id) => id === request.signer_id)) return "ReferenceMissing"
    if (this.relayers.some(({ id }) => id === request.id)) return "RelayerIdTaken"
    return this.relayers.some((other) => this.meets(other, request)) ? "SignerInUse" : "created"
  }

  meets(other: Relayer, request: CreateRelayer): boolean {
    return (
      other.signer_id === request.signer_id &&
      other.network_type === request.network_type &&
      other.network === request.network
    )
  }

  page(page: number, perPage: number): ReadonlyArray<Relayer> {
    const first = (Math.max(page, 1) - 1) * perPage
    return this.relayers.slice(first, first + perPage)
  }
}

export const run = (model: Model, command: typeof Command.Type) =>
  Effect.gen(function* () {
    const repo = yield* RelayersRepo
    switch (command._tag) {
      case "Create": {
        const request = toRequest(command.relayer)
        const expected = model.outcome(request)
        const result = yield* Effect.result(insert(request))
        if (Result.isSuccess(result)) model.relayers.push(result.success)
        // The id and the signer may both be taken; which of them is told first is not promised here.
        const actual = Result.isSuccess(result) ? "created" : result.failure._tag
        if (expected === "RelayerIdTaken") assert.include(["RelayerIdTaken", "SignerInUse"], actual)
        else assert.strictEqual(actual, expected)
        return
      }
      case "CreateAtOnce": {
        const requests = command.relayers.map(toRequest)
        const results = yield* Effect.forEach(requests, (request) => Effect.result(insert(request)), {
          concurrency: "unbounded"
        })
        const created = results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
        assert.strictEqual(new Set(created.map(({ id }) => id)).size, created.length)
        for (const relayer of created) assert.isFalse(model.relayers.some(({ id }) => id === relayer.id))
        for (const [index, request] of requests.entries()) {
          const alone = requests.every(
            (other) => other === request || (other.id !== request.id && other.signer_id !== request.signer_id)
          )
          if (alone) assert.strictEqual(Result.isSuccess(results[index]!), model.outcome(request) === "created")
        }
        const stored = yield* repo.page(pageRequest({ per_page: 100 }))
        model.relayers.splice(0, Infinity, ...stored.items)
        for (const relayer of created) assert.isTrue(stored.items.some((item) => Equal.equals(item, relayer)))
        return
      }
      case "Get": {
        const found = yield* repo.find(RelayerId.make(command.id))
        const expected = Option.fromUndefinedOr(model.relayers.find(({ id }) => id === command.id))
        assert.isTrue(Equal.equals(found, expected))
        return
      }
      case "List": {
        const page = yield* repo.page(pageRequest(command))
        assert.strictEqual(page.total, model.relayers.length)
        assert.isTrue(Equal.equals(page.items, model.page(command.page, command.per_page)))
      }
    }
  })
