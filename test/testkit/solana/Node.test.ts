// Each way in which a node of a cluster misbehaves has its effect, and only that one. The cluster makes blocks by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { MessageConfig } from "../../../src/networks/solana/rules/Message.ts"
import { computeBudgetProgram, memoProgram, systemProgram } from "../../../src/networks/solana/rules/Programs.ts"
import { base64Of, bytesOf } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../../src/networks/solana/rules/Wire.ts"
import { decodeBase58 } from "../../../src/networks/solana/rules/Wire.ts"
import type { BuiltInstruction } from "../../../src/networks/solana/rules/Wire.ts"
import { lookupTable } from "../../../testkit/solana/Accounts.ts"
import * as Cluster from "../../../testkit/solana/Cluster.ts"
import { u64 } from "../../../testkit/solana/Messages.ts"
import * as Node from "../../../testkit/solana/Node.ts"
import * as Serving from "../../../testkit/solana/Serving.ts"
import * as Tokens from "../../../testkit/solana/Tokens.ts"
import { addressOf, signature, signed, sol, transferOf } from "./World.ts"

const payer = addressOf(1)

const make = () => {
  const cluster = Cluster.make()
  cluster.fund(payer, 10n * sol)
  cluster.produce(60)
  return { cluster, node: Node.make(cluster, "") }
}

const valueOf = (answer: ReturnType<Node.Node["answer"]>): unknown =>
  answer !== undefined && "result" in answer ? answer.result : answer

const errorOf = (answer: ReturnType<Node.Node["answer"]>): number | undefined =>
  answer !== undefined && "error" in answer ? answer.error.code : undefined

/** As the service sends. */
const unchecked = { encoding: "base64", skipPreflight: true }

const heightOf = (node: Node.Node) => valueOf(node.answer("getBlockHeight", [{ commitment: "processed" }]))

describe("a node of a cluster", () => {
  it("that lags knows fewer blocks, and refuses a slot that it has not reached", () => {
    const { cluster, node } = make()
    const slot = cluster.blocks.at(-1)?.slot
    node.lag = 5
    assert.strictEqual(heightOf(node), cluster.blocks.length - 6)
    assert.strictEqual(
      errorOf(node.answer("getBlockHeight", [{ commitment: "processed", minContextSlot: slot }])),
      -32_016
    )
  })

  it("whose index lags leaves new entries out of the list of an address", () => {
    const { cluster, node } = make()
    const list = () => valueOf(node.answer("getSignaturesForAddress", [payer])) as ReadonlyArray<unknown>
    assert.strictEqual(list().length, 1)
    node.indexLag = cluster.blocks.length
    assert.strictEqual(list().length, 0)
  })

  it("whose index lags names heights of blocks whose transactions it does not show", () => {
    const { cluster, node } = make()
    const { slot, transactions } = cluster.blocks.find((block) => block.transactions.length > 0) ?? assert.fail("none")
    const signature = transactions[0]?.signature ?? ""
    const height = heightOf(node)
    const statusOf = (one: string) => {
      const { value } = valueOf(node.answer("getSignatureStatuses", [[one]])) as {
        readonly value: ReadonlyArray<unknown>
      }
      return value[0]
    }
    const block = () => valueOf(node.answer("getBlock", [slot])) as { readonly signatures: ReadonlyArray<string> }
    assert.deepStrictEqual(valueOf(node.answer("getBlocksWithLimit", [slot, 1])), [slot])
    const [own = "", vote = ""] = block().signatures
    assert.strictEqual(own, signature)
    for (const one of [signature, vote]) assert.isNotNull(statusOf(one))
    node.indexLag = cluster.blocks.length
    for (const one of [signature, vote]) assert.isNull(statusOf(one))
    assert.isNull(valueOf(node.answer("getTransaction", [signature])))
    assert.deepStrictEqual([heightOf(node), block().signatures], [height, [own, vote]])
    node.hasVotes = false
    assert.deepStrictEqual(block().signatures, [own])
  })

  it("grants tokens of a new mint, which are final at once, to an address or its bytes", () => {
    const { cluster, node } = make()
    const [mint, owner] = [addressOf(22), addressOf(21)]
    const account = valueOf(node.answer("grantTokens", [mint, owner, "5"]))
    const balance = () => valueOf(node.answer("getTokenAccountBalance", [account, { commitment: "finalized" }]))
    assert.deepInclude((balance() as { readonly value: object }).value, { amount: "5", decimals: 6 })
    const bytes = base64Of(decodeBase58(owner) ?? new Uint8Array(0))
    assert.strictEqual(valueOf(node.answer("grantTokens", [mint, bytes, "7"])), account)
    assert.strictEqual(Tokens.amountOf(cluster.accountOf(String(account))), 7n)
  })

  it("without history says so", () => {
    const { node } = make()
    node.hasHistory = false
    assert.strictEqual(errorOf(node.answer("getSignatureStatuses", [["5".repeat(88)]])), -32_011)
  })

  it("shows a transaction of a version only to those who ask for it, and its keys without its bytes", () => {
    const { cluster, node } = make()
    const config = { computeUnitLimit: 1000, loadedBytes: 100_000 }
    cluster.take(transferOf(cluster, 1, addressOf(2), sol, config))
    cluster.produce()
    const ofVersion1 = cluster.blocks.at(-1)?.transactions[0]?.signature ?? ""
    const later = cluster.landLater(2, [addressOf(3), payer])
    cluster.produce(40)
    const ask = (signature: string, maxSupportedTransactionVersion?: number, encoding = "base64") =>
      node.answer("getTransaction", [
        signature,
        { encoding, ...(maxSupportedTransactionVersion === undefined ? {} : { maxSupportedTransactionVersion }) }
      ])
    for (const [signature, version, most] of [
      [ofVersion1, 1, undefined],
      [ofVersion1, 1, 0],
      [later, 2, 1]
    ] as const) {
      const answer = ask(signature, most)
      const message = answer !== undefined && "error" in answer ? answer.error.message : ""
      assert.strictEqual(errorOf(answer), -32_015)
      assert.include(message, `Transaction version (${version}) is not supported`)
    }
    assert.deepInclude(valueOf(ask(ofVersion1, 1)) as object, { version: 1 })
    assert.deepInclude(valueOf(ask(later, 255, "json")) as object, {
      version: 2,
      transaction: {
        signatures: [later],
        message: { accountKeys: [addressOf(3), payer, "11111111111111111111111111111111"] }
      }
    })
  })

  it("takes any number of eight bits as the highest version, also for a transaction of an earlier one and for a block", () => {
    const { cluster, node } = make()
    const hash = cluster.fund(addressOf(2), sol)
    const slot = cluster.blocks.at(-1)?.slot ?? 0
    cluster.produce(40)
    const ask = (method: string, first: unknown, maxSupportedTransactionVersion: number) =>
      node.answer(method, [first, { transactionDetails: "signatures", maxSupportedTransactionVersion }])
    for (const version of [0, 1, 127, 255]) {
      assert.isObject(valueOf(ask("getTransaction", hash, version)))
      assert.isObject(valueOf(ask("getBlock", slot, version)))
    }
    for (const version of [-1, 256, 0.5]) {
      assert.strictEqual(errorOf(ask("getTransaction", hash, version)), -32_602)
      assert.strictEqual(errorOf(ask("getBlock", slot, version)), -32_602)
    }
  })

  it("takes no more bytes than it is set to", () => {
    const { cluster, node } = make()
    const raw = base64Of(transferOf(cluster, 1, addressOf(2), sol))
    node.maxBytes = bytesOf(raw).length - 1
    for (const method of ["sendTransaction", "simulateTransaction"]) {
      assert.strictEqual(errorOf(node.answer(method, [raw, unchecked])), -32_602)
    }
    assert.strictEqual(cluster.pool.size, 0)
    node.maxBytes += 1
    assert.isString(valueOf(node.answer("sendTransaction", [raw, unchecked])))
  })

  it("takes more bytes of version 1 than of the others, as many as it is set to", () => {
    const { cluster, node } = make()
    const memo = { program: memoProgram, accounts: [], data: new Uint8Array(1200) }
    const words = (config?: MessageConfig) => {
      const answer = node.answer("sendTransaction", [base64Of(signed(cluster, 1, [memo], config)), unchecked])
      return answer !== undefined && "error" in answer ? answer.error.message : "taken"
    }
    assert.include(words(), "(max: encoded/raw 1644/1232)")
    assert.strictEqual(words({}), "taken")
    node.maxBytes = 1232
    assert.include(words({}), "(max: encoded/raw 1644/1232)")
  })

  it("that is behind, limited or silent answers nothing else", () => {
    const { node } = make()
    node.trouble = "behind"
    assert.strictEqual(errorOf(node.answer("getSlot", [])), -32_005)
    for (const trouble of ["limited", "silent"] as const) {
      node.trouble = trouble
      assert.isUndefined(node.answer("getSlot", []))
    }
    node.trouble = undefined
    assert.isNumber(valueOf(node.answer("getSlot", [])))
  })

  it("that simulates what it is sent refuses what would fail, and forwards the rest", () => {
    const { cluster, node } = make()
    node.preflights = true
    const send = (lamports: bigint) =>
      node.answer("sendTransaction", [base64Of(transferOf(cluster, 1, addressOf(2), lamports)), unchecked])
    assert.strictEqual(errorOf(send(100n * sol)), -32_002)
    assert.strictEqual(cluster.pool.size, 0)
    assert.isString(valueOf(send(sol)))
    assert.strictEqual(cluster.pool.size, 1)
  })

  it("that drops its answers forwards what it is sent", () => {
    const { cluster, node } = make()
    node.dropsAnswers = true
    assert.isUndefined(node.answer("sendTransaction", [base64Of(transferOf(cluster, 1, addressOf(2), sol)), unchecked]))
    cluster.produce()
    assert.strictEqual(cluster.balanceOf(addressOf(2)), sol)
  })

  it("shows accounts, a part of their data, and balances of tokens", () => {
    const { cluster, node } = make()
    const [mint, account] = [addressOf(8), addressOf(9)]
    cluster.put({
      [mint]: Tokens.mint({ decimals: 6 }),
      [account]: Tokens.holding({ mint, owner: payer, amount: 7n })
    })
    const processed = { commitment: "processed" }
    const shown = (options: object) =>
      valueOf(node.answer("getAccountInfo", [account, { ...processed, ...options }])) as {
        readonly value: { readonly data: readonly [string, string]; readonly space: number }
      }
    assert.strictEqual(shown({}).value.space, 165)
    assert.strictEqual(shown({ dataSlice: { offset: 64, length: 1 } }).value.data[0], base64Of(Uint8Array.of(7)))
    const balance = valueOf(node.answer("getTokenAccountBalance", [account, processed]))
    assert.deepInclude(balance, { value: { amount: "7", decimals: 6 } })
  })

  it("gives lamports to an address that asks for an airdrop", () => {
    const { cluster, node } = make()
    const ask = (lamports: bigint) => valueOf(node.answer("requestAirdrop", [addressOf(2), Number(lamports)]))
    assert.isString(ask(sol))
    assert.strictEqual(cluster.balanceOf(addressOf(2)), 0n)
    cluster.produce()
    assert.strictEqual(cluster.balanceOf(addressOf(2)), sol)
    // More than there is gets a signature as well, of a transfer that fails.
    const signature = ask(600_000_000n * sol)
    cluster.produce()
    const failed = cluster.landed(cluster.blocks, String(signature))
    assert.deepStrictEqual(failed?.error, { InstructionError: [0, { Custom: 1 }] })
  })

  it("does not execute what no bank executes, in the words of Agave 4.1", () => {
    const { cluster, node } = make()
    const memo = { program: memoProgram, accounts: [], data: Buffer.from("x") }
    const budget = (...data: ReadonlyArray<number>) => ({
      program: computeBudgetProgram,
      accounts: [],
      data: Uint8Array.from(data)
    })
    const words = (instructions: ReadonlyArray<BuiltInstruction>) =>
      ["sendTransaction", "simulateTransaction"].map((method) => {
        const answer = node.answer(method, [base64Of(signed(cluster, 1, instructions)), unchecked])
        return answer !== undefined && "error" in answer ? [answer.error.code, answer.error.message] : ["taken"]
      })
    const twice = (found: ReadonlyArray<unknown>) => [found, found]
    const sanitize = [-32_602, "invalid transaction: Transaction failed to sanitize accounts offsets correctly"]
    assert.deepStrictEqual(words(Array.from({ length: 64 }, () => memo)), twice(["taken"]))
    assert.deepStrictEqual(words(Array.from({ length: 65 }, () => memo)), twice(sanitize))
    assert.deepStrictEqual(
      words([budget(2, 1, 0, 0, 0), budget(2, 2, 0, 0, 0)]),
      twice([-32_602, "invalid transaction: Transaction contains a duplicate instruction (1) that is not allowed"])
    )
    for (const data of [
      [2, 1],
      [0, 1, 0, 0, 0, 1, 0, 0, 0]
    ]) {
      assert.deepStrictEqual(
        words([budget(...data)]),
        twice([-32_602, "invalid transaction: Error processing Instruction 0: invalid instruction data"])
      )
    }
    const [large] = words([{ ...memo, data: new Uint8Array(1200) }])
    assert.match(String(large?.[1]), /VersionedTransaction too large/u)
  })

  it("names fees as the chain charges them: 3,000 units for an instruction of a builtin", () => {
    const { cluster, node } = make()
    const price = { program: computeBudgetProgram, accounts: [], data: Uint8Array.from([3, ...u64(1_000_000)]) }
    const transferred = {
      program: systemProgram,
      accounts: [payer, addressOf(2)].map((address) => ({ address, isWritable: true })),
      data: Uint8Array.from([2, 0, 0, 0, ...u64(sol)])
    }
    const memo = { program: memoProgram, accounts: [], data: Buffer.from("x") }
    const fees = (instructions: ReadonlyArray<BuiltInstruction>) => {
      const raw = signed(cluster, 1, instructions)
      const simulated = valueOf(node.answer("simulateTransaction", [base64Of(raw), { commitment: "processed" }]))
      const message = base64Of(raw.slice(65))
      const named = valueOf(node.answer("getFeeForMessage", [message, { commitment: "processed" }]))
      const feeOf = ({ value }: { readonly value: unknown }) => value
      return [
        JSON.stringify((simulated as { readonly value: { readonly fee: unknown } }).value.fee),
        JSON.stringify(feeOf(named as { readonly value: unknown }))
      ]
    }
    assert.deepStrictEqual(fees([price, transferred]), ["11000", "11000"])
    assert.deepStrictEqual(fees([price, transferred, transferred]), ["14000", "14000"])
    assert.deepStrictEqual(fees([price, memo]), ["208000", "208000"])
    node.version = "3.1.0"
    assert.deepStrictEqual(fees([price, memo]), [undefined, "208000"])
  })

  it("charges what version 1 has in its configuration, and names it in simulations, but not by getFeeForMessage", () => {
    const { cluster, node } = make()
    const price = { program: computeBudgetProgram, accounts: [], data: Uint8Array.from([3, ...u64(1_000_000)]) }
    const config = { priorityFee: 7n, computeUnitLimit: 1000, loadedBytes: 100_000 }
    const raw = signed(cluster, 1, [price, price], config)
    const simulated = valueOf(node.answer("simulateTransaction", [base64Of(raw), { commitment: "processed" }]))
    assert.include(JSON.stringify(simulated), '"err":null')
    assert.include(JSON.stringify(simulated), '"fee":5007')
    const message = base64Of(raw.slice(0, -64))
    const named = valueOf(node.answer("getFeeForMessage", [message, { commitment: "processed" }]))
    assert.include(JSON.stringify(named), '"value":5000')
    const hash = Result.getOrThrow(cluster.take(raw))
    cluster.produce(Cluster.finality + 1)
    const landed = valueOf(node.answer("getTransaction", [hash, { maxSupportedTransactionVersion: 1 }]))
    assert.include(JSON.stringify(landed), '"fee":5007')
  })

  it("shows no accounts of a simulation that fails", () => {
    const { cluster, node } = make()
    const options = { commitment: "processed", accounts: { encoding: "base64", addresses: [payer] } }
    const raw = base64Of(transferOf(cluster, 1, addressOf(2), 100n * sol))
    const { value } = valueOf(node.answer("simulateTransaction", [raw, options])) as {
      readonly value: { readonly err: unknown; readonly accounts: unknown }
    }
    assert.deepStrictEqual([value.err, value.accounts], [{ InstructionError: [0, { Custom: 1 }] }, [null]])
  })

  it("does not show a transaction of a version that the question does not allow", () => {
    const { cluster, node } = make()
    const blockhash = cluster.blocks.at(-1)?.blockhash ?? ""
    const message = { ...Wire.buildMessage({ payer, instructions: [], blockhash }), version: 0 as const }
    const bytes = Wire.messageBytes(message)
    const hash = Result.getOrThrow(cluster.take(Wire.transactionBytes([signature(1, bytes)], bytes)))
    cluster.produce(Cluster.finality + 1)
    assert.strictEqual(errorOf(node.answer("getTransaction", [hash, {}])), -32_015)
    assert.isObject(valueOf(node.answer("getTransaction", [hash, { maxSupportedTransactionVersion: 0 }])))
  })

  it("does not know what it has cleaned: lists, statuses and blocks begin with the first one that it keeps", () => {
    const { cluster, node } = make()
    const [{ signature: funded = "" } = {}] = cluster.blocks.flatMap(({ transactions }) => transactions)
    node.keeps = 5
    const first = Number(valueOf(node.answer("getFirstAvailableBlock", [])))
    assert.isAbove(first, 1)
    assert.deepStrictEqual(valueOf(node.answer("getSignaturesForAddress", [payer])), [])
    const { value } = valueOf(node.answer("getSignatureStatuses", [[funded]])) as { readonly value: unknown }
    assert.deepStrictEqual(value, [null])
    assert.strictEqual(errorOf(node.answer("getSignaturesForAddress", [payer, { before: funded }])), -32_020)
    cluster.produce(7)
    assert.isAbove(Number(valueOf(node.answer("getFirstAvailableBlock", []))), first)
  })

  it("limits what a call takes, as real nodes do", () => {
    const { node } = make()
    for (const limit of [0, 1001])
      assert.strictEqual(errorOf(node.answer("getSignaturesForAddress", [payer, { limit }])), -32_602)
    const many = Array.from({ length: 129 }, () => payer)
    assert.strictEqual(errorOf(node.answer("getRecentPrioritizationFees", [many])), -32_602)
  })

  it("of a cluster with Alpenglow has finalized its newest block, and skips slots", () => {
    const cluster = Cluster.make({ isAlpenglow: true })
    cluster.produce(60)
    const node = Node.make(cluster, "")
    const heights = ["processed", "confirmed", "finalized"].map((commitment) =>
      valueOf(node.answer("getBlockHeight", [{ commitment }]))
    )
    assert.deepStrictEqual(heights, [60, 60, 60])
    assert.isAbove(cluster.blocks.at(-1)?.slot ?? 0, 90)
  })

  it("leaves out a transaction that uses an entry of a lookup table before its slot is finalized", () => {
    const { cluster } = make()
    const { slot } = cluster.blocks.at(-1) ?? assert.fail("no block")
    cluster.put({ [addressOf(70)]: lookupTable([addressOf(71)], { slot, from: 0 }) })
    const send = () => {
      const message = Wire.messageBytes(
        Wire.buildMessage({
          payer,
          instructions: [
            { program: memoProgram, accounts: [{ address: addressOf(71), isWritable: true }], data: Buffer.from("x") }
          ],
          blockhash: cluster.blocks.at(-1)?.blockhash ?? "",
          tables: new Map([[addressOf(70), [addressOf(71)]]])
        })
      )
      const hash = Result.getOrThrow(cluster.take(Wire.transactionBytes([signature(1, message)], message)))
      cluster.produce()
      return cluster.landed(cluster.blocks, hash) !== undefined
    }
    assert.isFalse(send())
    cluster.produce(Cluster.finality)
    assert.isTrue(send())
  })

  it("behind a URL with others is asked in turn, or as a test says", () => {
    const { cluster } = make()
    const nodes = [Node.make(cluster, ""), Node.make(cluster, "")]
    const inTurn = Node.balanced(nodes)
    for (let call = 0; call < 4; call++) inTurn.answer("getSlot", [])
    assert.deepStrictEqual(
      nodes.map((node) => node.count("getSlot")),
      [2, 2]
    )
    const byMethod = Node.balanced(nodes, (method) => (method === "getEpochInfo" ? 1 : 0))
    byMethod.answer("getEpochInfo", [])
    assert.deepStrictEqual(
      nodes.map((node) => node.count("getEpochInfo")),
      [0, 1]
    )
  })

  it("makes blocks while a transaction or a question for the height may wait for them, and rests then", () => {
    const { cluster, node } = make()
    const next = Serving.pace(cluster, node)
    /** Blocks that it makes until it rests. */
    const blocks = () => {
      const before = cluster.blocks.length
      for (let ticks = 0; ticks < 1000; ticks++) next()
      return cluster.blocks.length - before
    }
    assert.isAbove(blocks(), Cluster.life + Cluster.finality)
    assert.strictEqual(blocks(), 0)
    node.answer("getLatestBlockhash", [])
    assert.strictEqual(blocks(), 0)
    node.answer("getEpochInfo", [{ commitment: "finalized" }])
    assert.isAbove(blocks(), Cluster.life + Cluster.finality)
    cluster.take(transferOf(cluster, 1, addressOf(2), sol))
    assert.isAbove(blocks(), Cluster.life + Cluster.finality)
    assert.strictEqual(cluster.balanceOf(addressOf(2)), sol)
  })

  it.live("answers over HTTP, with status 429 while it is limited", () =>
    Effect.gen(function* () {
      const { node } = make()
      const url = yield* Serving.serve(node)
      const ask = Effect.promise(() =>
        fetch(url, { method: "POST", body: JSON.stringify([{ jsonrpc: "2.0", id: 1, method: "getHealth" }]) })
      )
      const first = yield* ask
      const answers = yield* Effect.promise(() => first.json())
      assert.deepStrictEqual(answers, [{ jsonrpc: "2.0", id: 1, result: "ok" }])
      node.trouble = "limited"
      assert.strictEqual((yield* ask).status, 429)
    })
  )
})
