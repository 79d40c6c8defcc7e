// Calls of contracts in the driver: what their simulation finds ends them before anything is signed, or is signed.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { authorizeInvocation, Operation, xdr } from "@stellar/stellar-sdk/base"
import type { StellarRequest } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { baseReserve } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import {
  addressEntry,
  addressValue,
  amountValue,
  call as callOf,
  invocation,
  keyNamed,
  passphrase,
  sourceEntry,
  transaction
} from "../../../../testkit/stellar/Building.ts"
import { creditContract } from "../../../../testkit/stellar/Calls.ts"
import {
  counterContract,
  counterKey,
  nativeContract,
  openContract,
  tokenContract
} from "../../../../testkit/stellar/Contracts.ts"
import { issuer } from "../../../../testkit/stellar/Credits.ts"
import { dataOf, keyOf, newAccount } from "../../../../testkit/stellar/Entries.ts"
import { publicVote } from "../../../../testkit/stellar/Voted.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

/** Stroops of the receiver before. */
const had = 10n * xlm

const call = (name: string): StellarRequest => ({
  operations: [{ type: "invoke_contract", contract_address: counterContract, function_name: name, args: [] }]
})

layerEach(memory)("a call of a contract", (it) => {
  it.effect("is simulated, and signed with the resources that it needs", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(call("increment"))
      yield* world.finish
      const { attempts, cause, mined, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed", cause?.code)
      assert.isAbove(Number(attempts[0]?.offer.resourceFee ?? 0n), 0)
      assert.isAtMost(Number(mined?.receipt.paid), Number(attempts[0]?.offer.fee))
    })
  )

  it.effect(
    "that takes more XLM than the API key may send ends before anything is signed, whatever it authorizes",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const { address } = world
        const args = [addressValue(address), addressValue(receiver), amountValue(xlm)]
        const below = [invocation(nativeContract(passphrase), "transfer", args)]
        const auth = [sourceEntry(invocation(counterContract, "transfer", args, below))]
        const unsigned = transaction(address, [callOf("transfer", args, { auth })], { sequence: 1n }).toXDR()
        const [refused] = yield* world.accept({ transaction_xdr: unsigned, max_value: xlm - 1n })
        const [allowed] = yield* world.accept({ transaction_xdr: unsigned, max_value: xlm })
        yield* world.finish
        const { attempts, cause, state } = yield* world.transaction(refused)
        assert.deepStrictEqual([state, cause?.code, attempts.length], ["failed", "balance_change", 0])
        assert.strictEqual((yield* world.transaction(allowed)).state, "confirmed")
        assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
      })
  )

  it.effect(
    "that acts for another account of the service, which only its simulation names, ends before anything is signed",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const [node] = world.nodes
        if (node === undefined) return assert.fail("no node")
        const sibling = keyNamed("sibling").publicKey()
        const entry = addressEntry(sibling, invocation(counterContract, "increment"))
        node.faults.script = { auth: [entry.toXdr("base64")] }
        const code = Effect.fnUntraced(function* () {
          const [id] = yield* world.accept(call("increment"))
          yield* world.poll()
          const { attempts, cause, state } = yield* world.transaction(id)
          return [state, cause?.code, attempts.length]
        })
        world.siblings.add(sibling)
        assert.deepStrictEqual(yield* code(), ["failed", "auth_not_granted", 0])
        // The relayer does not act for somebody else: that authorization is the caller's matter.
        world.siblings.clear()
        assert.strictEqual((yield* code())[2], 1)
      })
  )

  const paying = (address: string): StellarRequest => ({
    operations: [
      {
        type: "invoke_contract",
        contract_address: nativeContract(passphrase),
        function_name: "transfer",
        args: [{ address }, { address: receiver.publicKey() }, { i128: { hi: 0n, lo: xlm } }]
      }
    ]
  })

  it.effect("of which one provider does not show what it changes is judged by what another one shows", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [node] = world.nodes
      if (node === undefined) return assert.fail("no node")
      node.faults.script = { hidesChanges: true }
      const [id] = yield* world.accept(paying(world.address))
      const [beyond] = yield* world.accept({ ...paying(world.address), max_value: xlm - 1n })
      yield* world.finish
      const { cause, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed", cause?.code)
      assert.deepInclude(yield* world.transaction(beyond), { state: "failed", attempts: [] })
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )

  it.effect("of which two providers do not show what it changes ends before anything is signed", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      for (const { faults } of world.nodes) faults.script = { hidesChanges: true }
      const [id] = yield* world.accept(paying(world.address))
      yield* world.poll(2)
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code, attempts.length], ["failed", "balance_change", 0])
    })
  )

  it.effect(
    "of which the only provider does not show what it changes waits, and then ends unless that one shows it",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const [node] = world.nodes
        if (node === undefined) return assert.fail("no node")
        node.faults.script = { hidesChanges: true }
        const [id] = yield* world.accept(paying(world.address))
        yield* world.poll()
        assert.strictEqual((yield* world.transaction(id)).cause?.code, "second_provider_missing")
        node.faults.script = {}
        yield* world.finish
        assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
        node.faults.script = { hidesChanges: true }
        const [later] = yield* world.accept(paying(world.address))
        yield* world.finish
        const { attempts, cause, state } = yield* world.transaction(later)
        assert.deepStrictEqual([state, cause?.code, attempts.length], ["failed", "balance_change", 0])
      })
  )

  it.effect("that makes a trust line ends before anything is signed, if the policy or the API key allows none", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { max_subentries: 1 } })
      world.network.grant(issuer.publicKey(), 10n * xlm)
      const trust = {
        operations: [
          {
            type: "invoke_contract",
            contract_address: creditContract(passphrase),
            function_name: "trust",
            args: [{ address: world.address }]
          }
        ]
      } as const
      const ended = Effect.fnUntraced(function* (request: StellarRequest) {
        const [id] = yield* world.accept(request)
        yield* world.finish
        const { attempts, cause, state } = yield* world.transaction(id)
        return [state, cause?.code, attempts.length]
      })
      assert.deepStrictEqual(yield* ended({ ...trust, max_value: baseReserve - 1n }), ["failed", "balance_change", 0])
      assert.strictEqual((yield* ended({ ...trust, max_value: baseReserve }))[0], "confirmed")
      assert.deepStrictEqual(yield* ended(trust), ["failed", "too_many_subentries", 0])
    })
  )

  it.effect("of a function that is named trust is no trust line, unless its contract is that of an asset", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { max_subentries: 0 } })
      world.network.grant(issuer.publicKey(), 10n * xlm)
      const { address } = world
      const ended = Effect.fnUntraced(function* (contract: string) {
        // The simulation shows a call of the counter, and none of what is authorized below it.
        const below = [invocation(contract, "trust", [addressValue(address)])]
        const auth = [sourceEntry(invocation(counterContract, "increment", [], below))]
        const unsigned = transaction(address, [callOf("increment", [], { auth })], { sequence: 1n }).toXDR()
        const [id] = yield* world.accept({ transaction_xdr: unsigned, max_value: 0n })
        yield* world.finish
        const { cause, state } = yield* world.transaction(id)
        return [state, cause?.code]
      })
      assert.deepStrictEqual(yield* ended(tokenContract), ["confirmed", "confirmed"])
      assert.deepStrictEqual(yield* ended(creditContract(passphrase)), ["failed", "balance_change"])
    })
  )

  it.effect("that makes a trust line counts the reserve that the network has voted for the API key", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ funds: 1000n * xlm })
      world.network.store.voted = { ...publicVote, baseReserve: 10n * xlm }
      world.network.grant(issuer.publicKey(), 100n * xlm)
      const args = [{ address: world.address }]
      const contract_address = creditContract(passphrase)
      const trust = {
        operations: [{ type: "invoke_contract", contract_address, function_name: "trust", args }]
      } as const
      const ended = Effect.fnUntraced(function* (max_value: bigint) {
        const [id] = yield* world.accept({ ...trust, max_value })
        yield* world.finish
        const { attempts, cause, state } = yield* world.transaction(id)
        return [state, cause?.code, attempts.length]
      })
      assert.deepStrictEqual(yield* ended(10n * xlm - 1n), ["failed", "balance_change", 0])
      assert.strictEqual((yield* ended(10n * xlm))[0], "confirmed")
    })
  )

  it.effect(
    "that creates an account with XLM of the relayer ends before anything is signed, without a policy for it",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const fresh = keyNamed("fresh").publicKey()
        const args = [{ address: world.address }, { address: fresh }, { i128: { hi: 0n, lo: 2n * xlm } }]
        const create: StellarRequest = {
          operations: [
            {
              type: "invoke_contract",
              contract_address: nativeContract(passphrase),
              function_name: "transfer",
              args
            }
          ]
        }
        const state = Effect.fnUntraced(function* () {
          const [id] = yield* world.accept(create)
          yield* world.finish
          const { attempts, cause, state } = yield* world.transaction(id)
          return state === "failed" ? [cause?.code, attempts.length] : [state]
        })
        assert.deepStrictEqual(yield* state(), ["balance_change", 0])
        world.relayer = world.relayerOf({ allowed_operations: ["createAccount"] })
        assert.deepStrictEqual(yield* state(), ["confirmed"])
        assert.strictEqual(world.balanceOf(fresh), 2n * xlm)
      })
  )

  it.effect("of a user ends before anything is paid, if it changes an account of the service", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      if (node === undefined) return assert.fail("no node")
      const sibling = keyNamed("sibling").publicKey()
      world.siblings.add(sibling)
      const entryOf = (subEntries: number) =>
        new xdr.LedgerEntry({
          lastModifiedLedgerSeq: 1,
          data: dataOf({ ...newAccount(sibling, xlm, 1), subEntries }, () => assert.fail()) ?? assert.fail(),
          ext: xdr.LedgerEntryExt.v0()
        }).toXdr("base64")
      node.faults.script = { changes: [{ before: entryOf(0), after: entryOf(1) }] }
      const guest = World.guestOf(world, "guest", [callOf("increment")], { resourceFee: 60_000n })
      const id = yield* guest.accept
      yield* world.finish
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code, attempts.length], ["failed", "balance_change", 0])
    })
  )

  it.effect("of a user whose envelope pays less than its resources is paid for by the fee bump", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const guest = World.guestOf(world, "guest", [callOf("increment")], { resourceFee: 60_000n, lowered: 59_000 })
      const id = yield* guest.accept
      yield* world.finish
      const { cause, mined, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed", cause?.code)
      assert.isAbove(Number(mined?.receipt.paid), 50_000)
    })
  )

  it.effect("with an authorization of protocol 27, which its user has signed by a published client, is confirmed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const user = keyNamed("user")
      world.network.grant(user.publicKey(), 10n * xlm)
      const contract = nativeContract(passphrase)
      const args = [addressValue(user), addressValue(receiver), amountValue(xlm)]
      const entry = yield* Effect.promise(() =>
        authorizeInvocation({
          signer: user,
          validUntilLedgerSeq: world.network.latest.number + 50,
          invocation: invocation(contract, "transfer", args),
          networkPassphrase: passphrase
        })
      )
      assert.strictEqual(entry.credentials.type, "sorobanCredentialsAddressV2")
      const [id] = yield* world.accept({
        operations: [
          {
            type: "invoke_contract",
            contract_address: contract,
            function_name: "transfer",
            args: [{ address: user.publicKey() }, { address: receiver.publicKey() }, { i128: { hi: 0n, lo: xlm } }],
            auth: { type: "xdr", entries: [entry.toXdr("base64")] }
          }
        ]
      })
      yield* world.finish
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed", cause?.code)
      assert.isDefined(attempts[0]?.offer.maxLedger)
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )

  it.effect(
    "of a contract that signs nothing has its recorded authorization, which is valid while the envelope is",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        world.network.put(keyOf.holding(openContract), { kind: "holding", amount: 7n })
        const from = (address: string): StellarRequest => ({
          operations: [
            {
              type: "invoke_contract",
              contract_address: tokenContract,
              function_name: "transfer",
              args: [{ address }, { address: receiver.publicKey() }, { i128: { hi: 0n, lo: 7n } }],
              auth: { type: "addresses", signers: [address] }
            }
          ]
        })
        const [id] = yield* world.accept(from(openContract))
        yield* world.finish
        const { attempts, cause, state } = yield* world.transaction(id)
        assert.strictEqual(state, "confirmed", cause?.code)
        assert.isDefined(attempts[0]?.offer.maxLedger)
        // A contract that wants a signature refuses it in a simulation, before a fee is paid.
        world.network.put(keyOf.holding(counterContract), { kind: "holding", amount: 7n })
        const [refused] = yield* world.accept(from(counterContract))
        yield* world.finish
        const ended = yield* world.transaction(refused)
        assert.deepStrictEqual([ended.state, ended.cause?.code, ended.attempts.length], ["failed", "would_fail", 0])
      })
  )

  it.effect("that only makes entries live longer is simulated without a mode of authorizations, and confirmed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      for (const operation of [Operation.extendFootprintTtl({ extendTo: 1000 }), Operation.restoreFootprint({})]) {
        const given = { sequence: 1n, resourceFee: 1000n, footprint: [counterKey] }
        const [id] = yield* world.accept({ transaction_xdr: transaction(world.address, [operation], given).toXDR() })
        yield* world.finish
        const { cause, state } = yield* world.transaction(id)
        assert.strictEqual(state, "confirmed", cause?.code)
      }
    })
  )

  it.effect("that fails in the simulation ends without a sequence, before anything is signed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const before = world.sequence()
      const [id] = yield* world.accept(call("fail"))
      yield* world.finish
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.strictEqual(state, "failed")
      assert.strictEqual(cause?.code, "would_fail")
      assert.lengthOf(attempts, 0)
      assert.strictEqual(world.sequence(), before)
    })
  )
})
