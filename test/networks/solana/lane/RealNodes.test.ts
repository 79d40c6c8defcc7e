// What a validator of Agave 4.1 did that no earlier trace has: fees that nodes name, messages that they do not execute, ledgers that they
// clean, and finality that stands still. Each case was seen there before.
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import type { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import { derivations } from "../../../../src/networks/solana/chain/SolanaAccounts.ts"
import {
  associatedTokenProgram,
  computeBudgetProgram,
  systemProgram,
  tokenProgram
} from "../../../../src/networks/solana/rules/Programs.ts"
import type { SolanaRequest } from "../../../../src/networks/solana/rules/Solana.ts"
import { base64Of } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import { explain } from "../../../../src/networks/solana/rules/SolanaWords.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { lookupTable } from "../../../../testkit/solana/Accounts.ts"
import { u64 } from "../../../../testkit/solana/Messages.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { addressOf } from "../../../testkit/solana/World.ts"
import { heldBack, isConfirmedOnce, untilDead } from "./Ends.ts"
import * as World from "./World.ts"

const { memo, sol, transfer } = World

type World = Effect.Success<ReturnType<typeof World.make>>

const nodeOf = ({ nodes: [node] }: World) => node ?? assert.fail("no node")

const shown = Effect.fnUntraced(function* (world: World, id: TransactionId) {
  const { attempts, cause, state } = yield* world.transaction(id)
  return [state, cause?.code, attempts.length]
})

const wordsOf = Effect.fnUntraced(function* (world: World, id: TransactionId) {
  const { cause } = yield* world.transaction(id)
  return cause === undefined ? assert.fail("no cause") : explain(cause, false)
})

/** What the account has paid for a final transaction besides the lamports that it sent. */
const paid = Effect.fnUntraced(function* (world: World, request: SolanaRequest, sent = 0n) {
  const before = world.cluster.balanceOf(world.address)
  const [id] = yield* world.accept(request)
  yield* world.finish
  const { mined, state } = yield* world.transaction(id)
  assert.strictEqual(state, "confirmed")
  assert.strictEqual(mined?.receipt.paid, before - world.cluster.balanceOf(world.address) - sent)
  return mined?.receipt.paid ?? 0n
})

const ownPrice = (price: bigint, { instructions = [] }: SolanaRequest): SolanaRequest => ({
  instructions: [
    { program_id: computeBudgetProgram, accounts: [], data: base64Of(Uint8Array.from([3, ...u64(price)])) },
    ...instructions
  ]
})

layerEach(memory)("the fee", (it) => {
  for (const version of ["4.1.2", "3.1.0"]) {
    const names = version === "4.1.2" ? "names" : "does not name"
    it.effect(`of a price without a limit is that of the simulated limit, at a node that ${names} it`, () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        nodeOf(world).version = version
        const price = yield* paid(world, { ...transfer(world.address, sol), compute_unit_price: 1_000_000n }, sol)
        assert.isAbove(Number(price), 5000)
        assert.isBelow(Number(price), 6000)
      })
    )

    it.effect(`of an own price without a limit is 3,000 units for each builtin, at a node that ${names} it`, () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        nodeOf(world).version = version
        assert.strictEqual(yield* paid(world, ownPrice(1_000_000n, transfer(world.address, sol)), sol), 11_000n)
        assert.strictEqual(yield* paid(world, ownPrice(1_000_000n, memo("x"))), 208_000n)
      })
    )
  }

  it.effect("that a node names is shown, reserved and paid, within what the runtime can charge", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const named = (value: unknown) => ({ result: { context: { slot: 10 ** 9 }, value } })
      nodeOf(world).lies.set("getFeeForMessage", () => named(100_000))
      const [id] = yield* world.accept({ ...ownPrice(1_000_000n, memo("named")), simulate: false })
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).attempts[0]?.maxFee, 100_000n)
      // The runtime charges 3,000 units for each instruction at least: a node that names less is not believed.
      nodeOf(world).lies.set("getFeeForMessage", () => named(5000))
      const [other] = yield* world.accept({ ...ownPrice(1_000_000n, memo("too little")), simulate: false })
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(other)).attempts[0]?.maxFee, 11_000n)
    })
  )

  it.effect("of a failure that charges none is 0, and the explanation says so", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      // A cluster has no such program.
      const instructions = [{ program_id: addressOf(90), accounts: [], data: "" }]
      const [id] = yield* world.accept({ instructions, simulate: false })
      nodeOf(world).lies.set("getTransaction", () => ({
        result: { slot: 1, meta: { fee: 0 }, transaction: ["", "base64"] }
      }))
      yield* world.poll(12)
      assert.deepStrictEqual(yield* shown(world, id), ["failed", "failed_on_chain", 1])
      assert.strictEqual((yield* world.transaction(id)).mined?.receipt.paid, 0n)
      assert.include((yield* wordsOf(world, id)).reason, "No fee was charged")
    })
  )

  it.effect("offers nothing for a price that somebody paid long ago", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.cluster.produce(300)
      const node = nodeOf(world)
      node.prices = [1_000_000]
      const [recent] = yield* world.accept(memo("recent"))
      yield* world.poll()
      node.pricesAge = 200
      yield* TestClock.adjust("10 seconds")
      const [old] = yield* world.accept(memo("old"))
      yield* world.poll()
      const priceOf = (id: TransactionId) =>
        Effect.map(world.transaction(id), ({ attempts }) => attempts[0]?.offer.computeUnitPrice)
      assert.deepStrictEqual([yield* priceOf(recent), yield* priceOf(old)], [1_000_000n, 0n])
    })
  )
})

const unsound = "invalid transaction: Transaction failed to sanitize accounts offsets correctly"

layerEach(memory)("what nodes say about a message that they do not execute", (it) => {
  const refusal = (message: string) => () => ({ error: { code: -32_602, message } })

  for (const providers of [1, 2]) {
    it.effect(`is the verdict of a simulation, with ${providers === 1 ? "one provider" : "two providers"}`, () =>
      Effect.gen(function* () {
        const world = yield* World.make({ providers })
        for (const node of world.nodes) node.lies.set("simulateTransaction", refusal(unsound))
        const [id] = yield* world.accept()
        yield* world.poll()
        assert.deepStrictEqual(yield* shown(world, id), ["failed", "would_fail", 0])
        assert.include((yield* wordsOf(world, id)).reason, unsound)
      })
    )
  }

  it.effect("is no verdict if another provider executes it", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      nodeOf(world).lies.set("simulateTransaction", refusal(unsound))
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* shown(world, id), ["pending", "providers_disagree", 0])
    })
  )

  for (const maxBytes of [[1232], [1232, 4096], [1232, 1232]]) {
    const isRead = maxBytes.includes(4096)
    it.effect(
      `about the size of version 1 is ${isRead ? "no " : ""}verdict if nodes take ${maxBytes.join()} bytes`,
      () =>
        Effect.gen(function* () {
          const world = yield* World.make({ providers: maxBytes.length })
          for (const [index, node] of world.nodes.entries()) node.maxBytes = maxBytes[index] ?? 0
          const [id] = yield* world.accept({ ...memo("x".repeat(1300)), version: 1 })
          yield* world.finish
          const [state, code, attempts] = yield* shown(world, id)
          assert.deepStrictEqual([state, code], isRead ? ["confirmed", "confirmed"] : ["failed", "would_fail"])
          assert.deepStrictEqual([attempts, world.cluster.sent.size], isRead ? [1, 1] : [0, 0])
        })
    )
  }

  it.effect("about other parameters is no verdict", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      nodeOf(world).lies.set("simulateTransaction", refusal("Too many accounts provided; max 1"))
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* shown(world, id), ["pending", "providers_unavailable", 0])
    })
  )

  it.effect("is said while the bytes wait for their end, and they are not sent again", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      nodeOf(world).lies.set("sendTransaction", refusal(unsound))
      const [id] = yield* world.accept()
      yield* world.poll(3)
      assert.deepStrictEqual(yield* shown(world, id), ["signed", "refused_by_all", 1])
      assert.include((yield* wordsOf(world, id)).next, "The transaction ends when a proof shows that they are dead")
      assert.strictEqual((yield* world.transaction(id)).attempts[0]?.sends, 1)
      yield* world.poll(untilDead + 8)
      assert.deepStrictEqual(yield* shown(world, id), ["failed", "refused_by_all", 1])
    })
  )

  it.effect("holds a message while the node does not know an entry of a lookup table", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const node = nodeOf(world)
      node.lies.set(
        "simulateTransaction",
        refusal("invalid transaction: Transaction address table lookup uses an invalid index")
      )
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* shown(world, id), ["pending", "lookup_table_unavailable", 0])
      node.lies.clear()
      yield* isConfirmedOnce(world, id)
    })
  )
})

layerEach(memory)("a lookup table that was extended a moment ago", (it) => {
  it.effect("is waited for until its slot is finalized, and the transaction lands with its first bytes", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { slot } = world.cluster.blocks.at(-1) ?? assert.fail("no block")
      const [table, loaded] = [addressOf(70), addressOf(71)]
      world.cluster.put({ [table]: lookupTable([addressOf(72), loaded], { slot, from: 1 }) })
      const [instruction = assert.fail("no instruction")] = memo("young").instructions ?? []
      const naming = (pubkey: string): SolanaRequest => ({
        instructions: [{ ...instruction, accounts: [{ pubkey, is_signer: false, is_writable: true }] }],
        address_lookup_tables: [table]
      })
      const [id] = yield* world.accept(naming(loaded))
      const [older] = yield* world.accept(naming(addressOf(72)))
      yield* world.poll()
      assert.deepStrictEqual(yield* shown(world, id), ["pending", "lookup_table_unavailable", 0])
      assert.include((yield* wordsOf(world, id)).reason, `was extended in slot ${slot}, which is not finalized yet`)
      yield* world.finish
      for (const one of [id, older]) {
        const { attempts, state } = yield* world.transaction(one)
        assert.deepStrictEqual([state, attempts.length, attempts[0]?.sends], ["confirmed", 1, 1])
      }
    })
  )
})

layerEach(memory)("a node that cleans its ledger", (it) => {
  for (const providers of [1, 2]) {
    it.effect(`proves the end of bytes of an idle relayer, whose old entries are gone; ${providers} of them`, () =>
      Effect.gen(function* () {
        const { id, world } = yield* heldBack({ providers })
        for (const node of world.nodes) node.keeps = 215
        yield* world.poll(untilDead + 8)
        const list = nodeOf(world).answer("getSignaturesForAddress", [world.address])
        assert.deepStrictEqual(list, { result: [] })
        assert.lengthOf((yield* world.transaction(id)).attempts, 2)
      })
    )
  }

  it.effect("proves nothing with an empty list before it has dropped the oldest blocks", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack()
      nodeOf(world).lies.set("getSignaturesForAddress", () => ({ result: [] }))
      yield* world.poll(untilDead + 8)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "landing_unproven", 1])
    })
  )

  it.effect(
    "between the signature and the proof ends all proofs: it says so, and an operator may answer after ten minutes",
    () =>
      Effect.gen(function* () {
        const { id, world } = yield* heldBack()
        nodeOf(world).keeps = 60
        yield* world.poll(untilDead + 8)
        assert.deepStrictEqual(yield* shown(world, id), ["submitted", "landing_unproven", 1])
        const { next, reason } = yield* wordsOf(world, id)
        assert.match(reason, /does not have the blocks since the signature any more: it keeps those from slot \d+ on/u)
        assert.match(next, /From 1970-01-01T00:10:\d\d\.\d{3}Z on, an operator may decide/u)
        const early = yield* Effect.flip(world.answer("give_up", id))
        assert.include(String(early), "a proof may still be found")
        yield* TestClock.adjust("10 minutes")
        yield* world.answer("give_up", id)
        assert.strictEqual((yield* world.transaction(id)).state, "failed")
      })
  )
})

layerEach(memory)("finality that stands still", (it) => {
  it.effect("is said after ten minutes, while the bytes are sent further; an operator may answer after a day", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack()
      const { height, slot } = world.cluster.blocks.at(-1) ?? assert.fail("no block")
      nodeOf(world).lies.set("getEpochInfo", () => ({ result: { absoluteSlot: slot, blockHeight: height } }))
      yield* world.poll(untilDead)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "in_pool", 1])
      yield* TestClock.adjust("10 minutes")
      const sends = nodeOf(world).count("sendTransaction")
      yield* world.poll(2)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "landing_unproven", 1])
      assert.include((yield* wordsOf(world, id)).reason, `has finalized nothing above block height ${height}`)
      assert.strictEqual(nodeOf(world).count("sendTransaction"), sends + 2)
      // An outage gives it another code for some time, which does not start the day anew.
      yield* TestClock.adjust("23 hours")
      nodeOf(world).isAway = true
      yield* world.poll()
      nodeOf(world).isAway = false
      yield* TestClock.adjust("1 hour")
      yield* world.poll()
      // Its bytes are alive, so that others could land beside them.
      const refused = yield* Effect.flip(world.answer("send", id))
      assert.include(JSON.stringify(refused), "only give_up is possible yet")
      yield* world.answer("give_up", id)
      assert.strictEqual((yield* world.transaction(id)).state, "failed")
    })
  )
})

layerEach(memory)("the deadline", (it) => {
  it.effect("is kept by what lands before it, although its finality comes later", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(transfer(world.address, sol), 1, { validUntil: 5000 })
      yield* world.finish
      assert.deepStrictEqual(yield* shown(world, id), ["confirmed", "confirmed", 1])
    })
  )

  for (const [time, code] of [
    [4, "confirmed"],
    [5, "executed_late"]
  ] as const) {
    it.effect(`is compared with the time of the block if nobody saw it before: ${code} at second ${time} of 5`, () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const [id] = yield* world.accept(transfer(world.address, sol), 1, { validUntil: 5000 })
        yield* world.poll(1, 1)
        world.cluster.time = time
        for (const node of world.nodes)
          node.lies.set("getSignatureStatuses", () => ({ error: { code: -32_005, message: "behind" } }))
        yield* world.poll(12)
        for (const node of world.nodes) node.lies.clear()
        yield* world.finish
        assert.deepStrictEqual(yield* shown(world, id), ["confirmed", code, 1])
      })
    )
  }
})

layerEach(memory)("a node of the day after", (it) => {
  it.effect("that does not know the commitment `confirmed` any more is asked at `finalized`", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const node = nodeOf(world)
      const refuses = (params: ReadonlyArray<unknown>) =>
        JSON.stringify(params).includes('"commitment":"confirmed"')
          ? { error: { code: -32_602, message: "Invalid params: unknown variant `confirmed`" } }
          : undefined
      const methods = [
        "getLatestBlockhash",
        "getBlockHeight",
        "isBlockhashValid",
        "getMultipleAccounts",
        "getBalance",
        "simulateTransaction"
      ]
      for (const method of methods) node.lies.set(method, refuses)
      const [id] = yield* world.accept()
      yield* isConfirmedOnce(world, id)
      const confirmed = node.seen.filter(({ params }) => JSON.stringify(params).includes('"commitment":"confirmed"'))
      yield* world.accept(memo("again"))
      yield* world.finish
      assert.strictEqual(
        node.seen.filter(({ params }) => JSON.stringify(params).includes('"commitment":"confirmed"')).length,
        confirmed.length,
        "it is not tried at `confirmed` again"
      )
    })
  )
})

layerEach(memory)("providers that were away", (it) => {
  it.effect("are the reason of each transaction that waits, and not of the first one alone", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      nodeOf(world).isAway = true
      const ids = yield* world.accept(memo("away"), 5)
      yield* world.poll(2)
      for (const id of ids) assert.deepStrictEqual(yield* shown(world, id), ["pending", "providers_unavailable", 0])
    })
  )

  it.effect("get bytes as soon as they answer, before the next health check enables the relayer", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const disabled_reason = { type: "RpcValidationFailed", details: "the providers do not answer" } as const
      world.relayer = { ...world.relayer, system_disabled: true, disabled_reason }
      const [id] = yield* world.accept()
      yield* isConfirmedOnce(world, id)
    })
  )
})

layerEach(memory)("the rent of the cluster", (it) => {
  for (const [rentPerByte, code] of [
    // This bank executes no instruction of the program, so that what the rules let pass fails later.
    [5080n, "would_fail"],
    [6960n, "value_above_cap"]
  ] as const) {
    it.effect(`is what a new token account takes, at ${rentPerByte} lamports per byte: ${code}`, () =>
      Effect.gen(function* () {
        const world = yield* World.make({ policies: { max_lamports_out: 1_500_000n } })
        nodeOf(world).rentPerByte = rentPerByte
        const [wallet, mint] = [World.receiver, addressOf(72)]
        const accounts = [
          { pubkey: world.address, is_signer: true, is_writable: true },
          ...[derivations.associated(wallet, mint, tokenProgram), wallet, mint, systemProgram, tokenProgram].map(
            (pubkey, index) => ({ pubkey, is_signer: false, is_writable: index === 0 })
          )
        ]
        const [id] = yield* world.accept({ instructions: [{ program_id: associatedTokenProgram, accounts, data: "" }] })
        yield* world.poll()
        assert.strictEqual((yield* world.transaction(id)).cause?.code, code)
      })
    )
  }
})
